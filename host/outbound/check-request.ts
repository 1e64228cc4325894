import { validateHeaderName, validateHeaderValue } from 'node:http'
import { isIP } from 'node:net'
import { startsWithHost } from '../../runtime/address.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { hostPortOf, isHostName } from '../../runtime/host-port.ts'

export type Target = {
  readonly secure: boolean
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  /** `host:port`, in the form used in settings and messages. */
  readonly place: string
  /** Value of the `Host` header. */
  readonly authority: string
  /** Path and query. */
  readonly path: string
}

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

const LONGEST_URL = 8192
const MOST_HEADERS = 64
/** Maximum total length of all header names and values, in characters. */
const LONGEST_HEADERS = 16 * 1024

/**
 * Headers that scripts cannot set: hop-by-hop headers, headers derived from the body, and headers that request
 * compression.
 * @see RFC 9110, 7.6.1
 */
const OWN_HEADERS = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
])

/** @throws ERR_OUTBOUND_INVALID; its message does not quote the URL, which may contain keys */
export function readTarget(text: string): Target {
  const isReadable =
    text.length <= LONGEST_URL && startsWithHost(text) && !/[\p{Cc}\s\\]/u.test(text) && text.isWellFormed()
  const url = isReadable ? URL.parse(text) : null
  if (url === null) {
    throw invalid(`the URL must start with http:// or https:// and have at most ${LONGEST_URL} characters`)
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('the URL must not contain a username or password: use the Authorization header instead')
  }
  const { host: written, port } = hostPortOf(url)
  const host = written.startsWith('[') ? written.slice(1, -1) : written
  if (port === 0 || (isIP(host) === 0 && !isHostName(host))) throw invalid('the host name in the URL is invalid')
  return {
    secure: url.protocol === 'https:',
    host,
    port,
    place: `${written}:${port}`,
    authority: url.port === '' ? written : `${written}:${port}`,
    path: `${url.pathname}${url.search}`,
  }
}

/** @throws ERR_OUTBOUND_INVALID */
export function checkMethod(method: string, hasBody: boolean): void {
  if (!(METHODS as readonly string[]).includes(method)) throw invalid(`the method must be one of ${METHODS.join(', ')}`)
  if (hasBody && (method === 'GET' || method === 'HEAD')) throw invalid(`a ${method} request cannot have a body`)
}

/**
 * Headers with lowercase names.
 * @throws ERR_OUTBOUND_INVALID; its message contains the header's name, never its value
 */
export function checkHeaders(headers: Readonly<Record<string, string>>): Map<string, string> {
  const checked = new Map<string, string>()
  let length = 0
  for (const [written, value] of Object.entries(headers)) {
    const name = written.toLowerCase()
    length += name.length + value.length
    if (checked.size === MOST_HEADERS || length > LONGEST_HEADERS) {
      throw invalid(`at most ${MOST_HEADERS} headers are allowed, with ${LONGEST_HEADERS} characters in total`)
    }
    checkHeader(name, value)
    if (checked.has(name)) throw invalid(`the header "${name}" appears twice`)
    checked.set(name, value)
  }
  return checked
}

function checkHeader(name: string, value: string): void {
  try {
    validateHeaderName(name)
  } catch {
    throw invalid('a header’s name has invalid characters')
  }
  if (OWN_HEADERS.has(name) || name.startsWith('proxy-')) {
    throw invalid(
      `the header "${name}" cannot be set, because it is a hop-by-hop header or the platform sets it: remove it`,
    )
  }
  try {
    validateHeaderValue(name, value)
  } catch {
    throw invalid(`the value of the header "${name}" has invalid characters, such as a line break`)
  }
}

function invalid(message: string): PlatformError {
  return new PlatformError('ERR_OUTBOUND_INVALID', message)
}
