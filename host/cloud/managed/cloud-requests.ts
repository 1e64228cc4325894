import { readAtMost, waitOf, whyNoAnswer } from '../../../base/outbound/read-answer.ts'
import { SATELLITE_API } from '../../../base/protocol/protocol.ts'
import { parsedJson } from '../../../runtime/json.ts'
import type { CloudSettings } from '../../config/cloud-settings.ts'

/**
 * The control center's response. `away`: there was no response, or a temporary error. `wait` is the `Retry-After` time
 * in ms; null if there was none. `barred`: the control center rejects the token, or the server is not a control center.
 * Only the operator can fix this. `too-large`: the response has more than `maxBytes` bytes.
 */
export type CloudAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly body: Uint8Array }
  | { readonly kind: 'away'; readonly why: string; readonly wait: number | null }
  | { readonly kind: 'barred'; readonly status: number }
  | { readonly kind: 'too-large' }

export type CloudRequest = {
  readonly method: 'GET' | 'POST'
  /** The path below `/satellite/v1/`. */
  readonly path: string
  /** The request body, as JSON text. */
  readonly body?: string
  /** The maximum size of the response, in bytes. */
  readonly maxBytes: number
  /** Timeout for the whole response, in ms. */
  readonly timeout: number
  readonly signal: AbortSignal
}

/** Sends a request to the control center with the remote environment token. Never throws. */
export type AskCloud = (asked: CloudRequest) => Promise<CloudAnswer>

/** Timeout for a response, in ms. The time of long polling is added to it. */
export const ANSWER_TIME = 20_000
/** Maximum for `Retry-After` times from the control center, in ms. Longer times are capped. */
const LONGEST_WAIT = 10 * 60_000
/**
 * Client errors that don't mean that the token was rejected. For example, 404 means that a bundle is no longer in the
 * desired state.
 */
const PASSED_ON = [400, 404, 409, 413, 415, 422]

export function createCloudRequests({ url, token }: Pick<CloudSettings, 'url' | 'token'>): AskCloud {
  return async ({ method, path, body, maxBytes, timeout, signal }) => {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
    try {
      // Don't follow redirects: the token may only be sent to the control center.
      const answer = await fetch(`${url.origin}${SATELLITE_API}/${path}`, {
        method,
        redirect: 'manual',
        headers: {
          authorization: `Bearer ${token}`,
          'user-agent': 'solhost',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body }),
        signal: deadline,
      })
      const bytes = await readAtMost(answer, maxBytes)
      const { status } = answer
      if (bytes === null) return { kind: 'too-large' }
      if (answer.ok || PASSED_ON.includes(status)) return { kind: 'answer', status, body: bytes }
      if (status === 408 || status === 429 || status >= 500) {
        return { kind: 'away', wait: waitOf(answer, LONGEST_WAIT), why: `the control center returned HTTP ${status}` }
      }
      return { kind: 'barred', status }
    } catch (error) {
      return { kind: 'away', wait: null, why: whyNoAnswer(error) }
    }
  }
}

/** @returns null if the text is not JSON */
export function jsonOf(body: Uint8Array): unknown {
  return parsedJson(new TextDecoder().decode(body))
}
