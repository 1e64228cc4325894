import type { CloudSettings } from '../../../base/config/cloud-settings.ts'
import { readAtMost, waitOf, whyNoAnswer } from '../../../base/outbound/read-answer.ts'
import { SATELLITE_API } from '../../../base/protocol/protocol.ts'

/**
 * What the control center said. `away`: it does not answer, or not now; `wait` in ms where it named one. `barred`: it does not
 * take the token, or is no control center, which only the operator can put right. `too-large`: no answer of a control center.
 */
export type CloudAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly body: Uint8Array }
  | { readonly kind: 'away'; readonly why: string; readonly wait: number | null }
  | { readonly kind: 'barred'; readonly status: number }
  | { readonly kind: 'too-large' }

export type CloudRequest = {
  readonly method: 'GET' | 'POST'
  /** Below `/satellite/v1/`. */
  readonly path: string
  /** JSON. */
  readonly body?: string
  /** The most that the answer may have. */
  readonly maxBytes: number
  /** In ms, to the last byte of the answer. */
  readonly timeout: number
  readonly signal: AbortSignal
}

/** One request to the control center, outbound, with the remote environment token. It never throws. */
export type AskCloud = (asked: CloudRequest) => Promise<CloudAnswer>

/** How long an answer may take that the control center does not hold back, in ms. */
export const ANSWER_TIME = 20_000
/** The control center cannot put us off for longer, in ms. */
const LONGEST_WAIT = 10 * 60_000
/** A bundle that the desired state does not name any more is no fault of the token. */
const PASSED_ON = [400, 404, 409, 413, 415, 422]

export function createCloudRequests({ url, token }: Pick<CloudSettings, 'url' | 'token'>): AskCloud {
  return async ({ method, path, body, maxBytes, timeout, signal }) => {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
    try {
      // No redirect is followed: the token is for that address alone.
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
        return { kind: 'away', wait: waitOf(answer, LONGEST_WAIT), why: `it answers ${status}` }
      }
      return { kind: 'barred', status }
    } catch (error) {
      return { kind: 'away', wait: null, why: whyNoAnswer(error) }
    }
  }
}

/** Null: it is no JSON. */
export function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    return null
  }
}
