import { STATUS_CODES } from 'node:http'
import type { PlatformError } from '../../runtime/errors.ts'
import { statusOf } from './errors.ts'

/** A response to a request that never reaches the app. */
export type EarlyAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Creates a response with problem details (RFC 9457), even for pages. There is no correlation ID, because the app that
 * assigns it has not run.
 */
export function earlyAnswer(error: PlatformError): EarlyAnswer {
  const { code, message } = error
  const status = statusOf(error)
  const body = JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status], status, code, detail: message })
  const headers = { 'Content-Type': 'application/problem+json', 'Content-Length': String(Buffer.byteLength(body)) }
  return { status, headers, body }
}
