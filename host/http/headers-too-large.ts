import { STATUS_CODES } from 'node:http'
import { PlatformError } from '../../runtime/errors.ts'

/** An answer to a request that no step of the app sees. */
export type EarlyAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * What says that a request's headers are too large, before anything else of it was read: so it is problem+json (RFC 9457) for
 * pages too, and has no number to find it by in the log.
 * @param most such as "16384 bytes"
 */
export function headersTooLarge(most: string): EarlyAnswer {
  const { status, code, message } = new PlatformError(
    'ERR_HEADERS_TOO_LARGE',
    `The headers of this request, with its address, are larger than ${most}. Send fewer or shorter ones; in a browser, remove the cookies of this site.`,
  )
  const body = JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status], status, code, detail: message })
  const headers = { 'Content-Type': 'application/problem+json', 'Content-Length': String(Buffer.byteLength(body)) }
  return { status, headers, body }
}
