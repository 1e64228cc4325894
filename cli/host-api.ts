import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest, type RequestOptions as SecureRequestOptions } from 'node:https'
import { certificateProblem } from '../base/outbound/certificate-problem.ts'
import { SOLHOST } from '../base/program/program-name.ts'
import { CommandError } from '../base/terminal/command.ts'
import { printable } from '../base/terminal/terminal.ts'
import { parsedJson } from '../runtime/json.ts'

/** A response from the admin API; `body` is the parsed JSON, or null if it is not JSON. */
export type ApiAnswer = { readonly status: number; readonly body: unknown; readonly location: string | null }

export type ApiContent = { readonly type: string; readonly bytes: Buffer }

export interface HostApi {
  /** @param path absolute, from the root */
  get(path: string): Promise<ApiAnswer>
  /** @param content sent with the matching content type; null for a request without a body */
  send(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, content: ApiContent | null): Promise<ApiAnswer>
  /**
   * Streams a file of any size.
   * @returns null on success; the response if it has a different content type, for example because it is an error
   */
  download(path: string, type: string, take: (piece: Buffer) => Promise<void>): Promise<ApiAnswer | null>
  /** @param onProgress called with the number of bytes sent so far */
  put(
    path: string,
    content: Buffer,
    onProgress: (sent: number) => void,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ApiAnswer>
  /**
   * Reads server-sent events until the server closes the connection.
   * @param onOpen called when the stream starts
   * @returns null after a stream; the response if it is not a stream
   */
  follow(path: string, onOpen: () => void, onEvent: (data: string) => void): Promise<ApiAnswer | null>
}

/** Timeout in ms without any data. It is long, because a host takes several seconds to check an upload. */
const ANSWER_TIME = 60_000
/** Timeout in ms for probing a host on this machine. */
const LOOK_TIME = 2000
const MOST_ANSWER = 16 * 1024 ** 2
const PIECE = 64 * 1024

/** Every method throws a CommandError `unreachable` if no Solhost host responds. */
export function createHostApi(url: URL, authorization: string): HostApi {
  function open(method: string, path: string, headers: Record<string, string>, send: (to: Sending) => void) {
    return request(url, path, { method, headers: { authorization, ...headers } }, ANSWER_TIME, send)
  }

  return {
    get: async (path) => read(await open('GET', path, { accept: 'application/json' }, (sending) => sending.end()), url),
    async send(method, path, content) {
      const { type, bytes } = content ?? { type: null, bytes: Buffer.alloc(0) }
      const headers = {
        accept: 'application/json',
        ...(type === null ? {} : { 'content-type': type, 'content-length': String(bytes.length) }),
      }
      return read(await open(method, path, headers, (sending) => sending.end(bytes)), url)
    },
    async download(path, type, take) {
      const response = await open('GET', path, { accept: `${type}, application/json` }, (sending) => sending.end())
      if (response.statusCode !== 200 || !response.headers['content-type']?.startsWith(type)) return read(response, url)
      const pieces = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>
      const next = () => pieces.next().catch((error: Error) => Promise.reject(unreachable(url, error)))
      for (let piece = await next(); piece.done !== true; piece = await next()) await take(piece.value)
      return null
    },
    async put(path, content, onProgress, more = {}) {
      const headers = { ...more, 'content-type': 'application/zip', 'content-length': String(content.length) }
      return read(await open('PUT', path, headers, (sending) => sendPieces(sending, content, onProgress)), url)
    },
    async follow(path, onOpen, onEvent) {
      const response = await open('GET', path, { accept: 'text/event-stream' }, (sending) => sending.end())
      if (!/^text\/event-stream/.test(response.headers['content-type'] ?? '')) return read(response, url)
      onOpen()
      try {
        for await (const line of linesOf(response)) {
          if (line.startsWith('data: ')) onEvent(line.slice('data: '.length))
        }
      } catch {
        // A broken connection is treated like a normal end, because the caller reconnects in both cases.
      }
      return null
    },
  }
}

/** Whether a host responds at this URL and accepts requests. */
export async function isSolhost(url: URL): Promise<boolean> {
  try {
    // Don't verify the certificate: it seldom matches the local address that is probed, and the request contains no
    // secret.
    const options = { method: 'GET', rejectUnauthorized: false }
    const response = await request(url, '/health/live', options, LOOK_TIME, (sending) => sending.end())
    return ((await read(response, url)).body as { status?: unknown } | null)?.status === 'ok'
  } catch {
    return false
  }
}

/** @param time timeout in ms without any data */
function request(
  url: URL,
  path: string,
  options: SecureRequestOptions,
  time: number,
  send: (to: Sending) => void,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const open = url.protocol === 'https:' ? httpsRequest : httpRequest
    const sending = open(new URL(path, url), { ...options, agent: false }, resolve)
    sending.setTimeout(time, () => sending.destroy(new Error(`no response within ${time / 1000} s`)))
    sending.on('error', (error) => reject(unreachable(url, error)))
    send(sending)
  })
}

type Sending = ReturnType<typeof httpRequest>

/** Writes the next chunk once the previous one is flushed, so that the reported progress is accurate. */
function sendPieces(sending: Sending, content: Buffer, onProgress: (sent: number) => void): void {
  const sendFrom = (start: number) => {
    if (start >= content.length) return void sending.end()
    const end = Math.min(start + PIECE, content.length)
    sending.write(content.subarray(start, end), () => {
      onProgress(end)
      sendFrom(end)
    })
  }
  sendFrom(0)
}

async function* linesOf(response: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MOST_ANSWER) throw new Error('a line in the response is too long')
    yield* lines
  }
}

async function read(response: IncomingMessage, url: URL): Promise<ApiAnswer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MOST_ANSWER) throw new Error('the response is too large')
      chunks.push(chunk)
    }
  } catch (error) {
    throw unreachable(url, error as Error)
  }
  const location = response.headers.location ?? null
  return { status: response.statusCode ?? 0, body: parsedJson(Buffer.concat(chunks).toString('utf8')), location }
}

const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: `No server is listening at this URL. Start a host with "${SOLHOST} start", or correct the URL.`,
  ENOTFOUND: 'The host name does not exist. Correct the URL.',
  ECONNRESET: 'The connection was closed. Try again. If the problem persists, ask the operator.',
  EPROTO: 'The TLS connection failed. Check whether the URL must start with http instead of https.',
}

function unreachable(url: URL, error: Error): CommandError {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  const problem = certificateProblem(code)
  const advice =
    problem === null ? (ADVICE[code] ?? 'Check the URL, or ask the operator.') : `The host’s certificate ${problem}.`
  const why = code === '' ? printable(error.message) : code
  return new CommandError('unreachable', `The request to ${url.origin} failed (${why}). ${advice}`, { cause: error })
}
