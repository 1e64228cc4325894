import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Target } from '../config/telemetry-settings.ts'
import type { Format } from '../work/batch-queue.ts'
import { readAtMost, waitOf, whyNoAnswer } from './read-answer.ts'

/**
 * The collector's response to one request.
 * - `later`: the collector is down or busy. `wait`, in ms, is set if it sent `Retry-After`.
 * - `barred`: the URL or token is wrong, which only the operator can fix. A `status` of 0 means that there is no URL to
 *   connect to.
 * - `refused`: the collector will never accept this body.
 */
export type PostResult =
  | { readonly kind: 'taken'; readonly rejected: number }
  | { readonly kind: 'later'; readonly wait: number | null; readonly why: string }
  | { readonly kind: 'barred'; readonly status: number }
  | { readonly kind: 'refused'; readonly status: number }

export type PostOptions = {
  readonly target: Target
  readonly isCompressed: boolean
  /** In ms. */
  readonly timeout: number
  /** Reads from the response how many items the collector rejected, although it accepted the request. */
  readonly rejectedOf: (answer: Uint8Array, format: Format) => number
}

/** Maximum bytes read from a response. The URL may point to a server that is not a collector and sends a large one. */
const MOST_ANSWER = 64 * 1024
/** The longest `Retry-After` that is honoured, in ms. */
const LONGEST_WAIT = 10 * 60_000
const zip = promisify(gzip)

/**
 * Retryable statuses of OTLP, and 408, which proxies send.
 * @see https://opentelemetry.io/docs/specs/otlp/#failures-1
 */
const RETRIED = [408, 429, 502, 503, 504]
/**
 * Statuses that only the operator can fix. Chosen here: OTLP drops batches on 404, but the operator can correct a URL.
 */
const BARRED = [401, 403, 404, 405, 407]

/**
 * Sends one request to the collector. Doesn't follow redirects, since the token may be sent only to the configured URL.
 */
export async function post(
  body: Uint8Array,
  format: Format,
  { target, isCompressed, timeout, rejectedOf }: PostOptions,
  stopped: AbortSignal,
): Promise<PostResult> {
  try {
    const sent = isCompressed ? await zip(body) : body
    const answer = await fetch(target.url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        ...target.headers,
        'content-type': format === 'pb' ? 'application/x-protobuf' : 'application/json',
        'user-agent': 'solhost',
        ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
      },
      body: new Uint8Array(sent),
      signal: AbortSignal.any([stopped, AbortSignal.timeout(timeout)]),
    })
    const text = await readAtMost(answer, MOST_ANSWER)
    const { status } = answer
    if (answer.ok) return { kind: 'taken', rejected: text === null ? 0 : rejectedIn(text) }
    if (RETRIED.includes(status)) {
      return { kind: 'later', wait: waitOf(answer, LONGEST_WAIT), why: `the server returned HTTP ${status}` }
    }
    if (BARRED.includes(status) || status < 400) return { kind: 'barred', status }
    // Chosen here: 500 and 501 are retried too. They don't mean that the body is invalid; the collector itself may have
    // failed.
    if (status >= 500) return { kind: 'later', wait: null, why: `the server returned HTTP ${status}` }
    return { kind: 'refused', status }
  } catch (error) {
    return { kind: 'later', wait: null, why: whyNoAnswer(error) }
  }

  function rejectedIn(text: Uint8Array): number {
    try {
      return rejectedOf(text, format)
    } catch {
      return 0
    }
  }
}
