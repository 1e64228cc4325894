import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Target } from '../config/telemetry-settings.ts'
import type { Format } from '../work/batch-queue.ts'
import { readAtMost, waitOf, whyNoAnswer } from './read-answer.ts'

/**
 * What a collector said to one request.
 * `later`: it is away or busy; `wait` in ms where it named one. `barred`: it is the wrong address or token, which only the
 * operator can put right; `status` 0: there is no address to try. `refused`: it never takes this body.
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
  /** Reads how many items of an accepted request were rejected. */
  readonly rejectedOf: (answer: Uint8Array, format: Format) => number
}

/** Of an answer: the collector says little, and what is not one may say much. */
const MOST_ANSWER = 64 * 1024
/** A collector cannot put us off for longer, in ms. */
const LONGEST_WAIT = 10 * 60_000
const zip = promisify(gzip)

/** Statuses of OTLP that are worth trying again; 408 of proxies. @see https://opentelemetry.io/docs/specs/otlp/#failures-1 */
const RETRIED = [408, 429, 502, 503, 504]
/** The operator's to put right. Chosen here: OTLP drops what got 404, but an address can be corrected. */
const BARRED = [401, 403, 404, 405, 407]

/** One request to the collector. It follows no redirect: the token is for that address alone. */
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
      return { kind: 'later', wait: waitOf(answer, LONGEST_WAIT), why: `it answers ${status}` }
    }
    if (BARRED.includes(status) || status < 400) return { kind: 'barred', status }
    // Chosen here: 500 and 501 too may be a collector in trouble, and tell nothing of the body.
    if (status >= 500) return { kind: 'later', wait: null, why: `it answers ${status}` }
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
