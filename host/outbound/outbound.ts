import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import { type AddressRules, createCheckedAddresses, only } from '../../base/outbound/checked-addresses.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { checkHeaders, checkMethod, readTarget, type Target } from './check-request.ts'

export type OutboundRequest = {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Maximum size of the response body. */
  readonly maxBytes: number
  /** Timeout in ms, from the DNS lookup to the last byte of the response. */
  readonly timeoutMs: number
}

export type OutboundAnswer = {
  readonly status: number
  /** Keyed by lowercase name, without a prototype; repeated headers are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/**
 * Sends all requests that the host makes for a solution. It resolves the name once, checks that the address is public,
 * and connects to exactly that address. This prevents DNS rebinding. It does not follow redirects. It never reuses a
 * connection, cookie or TLS session, so solutions can't see each other's data.
 */
export interface Outbound {
  /**
   * @throws ERR_OUTBOUND_INVALID for an unsupported URL, method or header
   * @throws ERR_OUTBOUND_PRIVATE if the hostname has a non-public address and is not listed as an allowed private host
   * @throws ERR_OUTBOUND_FAILED if the hostname does not resolve, or the connection, certificate or response is invalid
   * @throws ERR_OUTBOUND_TIME, ERR_OUTBOUND_SIZE if a limit was exceeded
   */
  request(asked: OutboundRequest): Promise<OutboundAnswer>
}

export type OutboundOptions = AddressRules & {
  /** In PEM format. Default: the certificates of Node.js and NODE_EXTRA_CA_CERTS. */
  readonly certificateAuthorities?: string
}

/** Maximum size of the status line and headers, in bytes. */
const ANSWER_HEADERS = 16 * 1024

export function createOutbound(options: OutboundOptions): Outbound {
  const { certificateAuthorities } = options
  const checkedAddresses = createCheckedAddresses(options)

  async function exchange(asked: OutboundRequest, target: Target, headers: Map<string, string>, signal: AbortSignal) {
    const addresses = await checkedAddresses(target)
    signal.throwIfAborted()
    const connection: RequestOptions & { readonly autoSelectFamily: boolean } = {
      // Set these options explicitly, so that neither an agent's defaults nor the environment can change them.
      agent: false,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      ...(certificateAuthorities === undefined ? {} : { ca: certificateAuthorities }),
      servername: isIP(target.host) === 0 ? target.host : '',
      autoSelectFamily: true,
      lookup: only(addresses),
    }
    const response = await send(target, { ...connection, method: asked.method, signal }, headers, asked.body)
    refuseEncoded(response, target)
    const body = await readBody(response, asked.maxBytes, target)
    return { status: response.statusCode ?? 0, headers: joined(response.headers), body }
  }

  return {
    async request(asked) {
      const target = readTarget(asked.url)
      checkMethod(asked.method, asked.body !== null)
      const headers = checkHeaders(asked.headers)
      const deadline = new AbortController()
      const { promise: late, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => {
        const message = `the request to ${target.place} took longer than ${asked.timeoutMs} ms`
        reject(new PlatformError('ERR_OUTBOUND_TIME', message, { place: target.place }))
        deadline.abort()
      }, asked.timeoutMs)
      try {
        return await Promise.race([exchange(asked, target, headers, deadline.signal), late])
      } catch (error) {
        if (error instanceof PlatformError) throw error
        throw failed(`the request to ${target.place} failed (${codeOf(error)})`, error)
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

/** Sends a request. Resolves with the response as soon as its headers have arrived. */
function send(
  { secure, host, port, path, authority }: Target,
  options: RequestOptions,
  headers: Map<string, string>,
  body: string | Uint8Array | null,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const request = (secure ? httpsRequest : httpRequest)({
    ...options,
    host,
    port,
    path,
    setHost: false,
    maxHeaderSize: ANSWER_HEADERS,
    insecureHTTPParser: false,
  })
  request.on('response', resolve)
  request.on('error', reject)
  request.on('upgrade', (_response, socket) => {
    socket.destroy()
    reject(failed(`${authority} switched protocols, which was not requested`))
  })
  request.setHeader('host', authority)
  request.setHeader('accept-encoding', 'identity')
  if (!headers.has('user-agent')) request.setHeader('user-agent', 'solhost')
  for (const [name, value] of headers) request.setHeader(name, value)
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const hasLength = bytes !== null || !['GET', 'HEAD', 'OPTIONS', 'DELETE'].includes(options.method ?? 'GET')
  if (hasLength) request.setHeader('content-length', bytes?.length ?? 0)
  request.end(bytes ?? undefined)
  return promise
}

/** Rejects compressed responses, so that a small response can't expand to a large one. */
function refuseEncoded(response: IncomingMessage, { place }: Target): void {
  const encoding = response.headers['content-encoding'] ?? 'identity'
  if (encoding === '' || encoding.toLowerCase() === 'identity') return
  response.destroy()
  throw failed(`the response from ${place} is compressed, although no compression was requested`)
}

async function readBody(response: IncomingMessage, maxBytes: number, { place }: Target): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let length = 0
  // An error thrown inside the loop also closes the connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes) {
      const message = `the response from ${place} is larger than ${maxBytes} bytes`
      throw new PlatformError('ERR_OUTBOUND_SIZE', message, { place })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

function joined(headers: IncomingHttpHeaders): Record<string, string> {
  const joinedHeaders: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joinedHeaders[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return joinedHeaders
}

function failed(message: string, cause?: unknown): PlatformError {
  return new PlatformError('ERR_OUTBOUND_FAILED', message, {}, cause === undefined ? undefined : { cause })
}

/**
 * Returns only the code, for example ENOTFOUND, ECONNREFUSED or CERT_HAS_EXPIRED, because the text of a Node error may
 * contain internal addresses.
 */
function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'unknown'
}
