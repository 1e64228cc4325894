import { codeOfFailure, readAtMost, waitOf, whyNoAnswer } from '../../../base/outbound/read-answer.ts'
import {
  AuthenticateAnswer,
  type AuthenticateRequest,
  CLOCK_HEADER,
  LoginPageAnswer,
  type RefreshRequest,
  SATELLITE_API,
} from '../../../base/protocol/protocol.ts'
import { parsedJson } from '../../../runtime/json.ts'
import type { z } from '../../../runtime/zod.ts'
import type { CloudSettings } from '../../config/cloud-settings.ts'

/**
 * The control center's response to a request. `away`: it could not be reached, or had a server error. `token`: it
 * rejected the remote environment token. `unknown`: the environment has no such solution. `answer`: the response does
 * not follow the protocol. `unchanged`: the page still has the ETag that was sent. `retryAfter` is in seconds; null if
 * the control center sent none.
 */
export type CloudAnswer<T> =
  | { readonly kind: 'said'; readonly value: T; readonly tag: string | null }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'throttled'; readonly retryAfter: number }
  | CloudFailure

export type CloudFailure = {
  readonly kind: 'away' | 'token' | 'unknown' | 'answer'
  /** A text for the operator. It quotes only numbers and codes from the response. */
  readonly why: string
  readonly retryAfter: number | null
}

/** The requests that a Satellite sends to sign users in through its control center (`base/protocol/protocol.ts`). */
export interface CloudLoginRequests {
  /** @param tag the ETag of the cached page, or null */
  loginPage(solution: string, tag: string | null): Promise<CloudAnswer<LoginPageAnswer>>
  authenticate(solution: string, request: AuthenticateRequest): Promise<CloudAnswer<AuthenticateAnswer>>
  refresh(solution: string, request: RefreshRequest): Promise<CloudAnswer<AuthenticateAnswer>>
}

/** Maximum size of a page with its texts, and of a response about a user, in bytes after decompression. */
const MOST_PAGE = 1024 ** 2
const MOST_ANSWER = 512 * 1024
/** Timeout of a request, including its whole response, in ms. */
const PATIENCE = 5000
/** Maximum for `Retry-After` times from the control center, in ms. Longer times are capped. */
const LONGEST_WAIT = 3_600_000
/**
 * Error codes that occur if the control center closes a keep-alive connection while a request is being sent. The
 * request is then retried once.
 */
const ENDED = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']
/** An ETag (RFC 9110, section 8.8.3). Longer ones are ignored. */
const TAG = /^(W\/)?"[\x21\x23-\x7e]{0,200}"$/

export type CloudLoginRequestsOptions = {
  readonly cloud: Pick<CloudSettings, 'url' | 'token'>
  readonly stopped: AbortSignal
  /** Returns the current time in epoch ms, on the clock that `RefreshRequest.since` refers to. */
  readonly now: () => number
  /** The timeout of a request in ms. Default: `PATIENCE`. */
  readonly patience?: number
}

type Asked = { readonly method: 'GET' | 'POST'; readonly headers?: Record<string, string>; readonly body?: string }

/**
 * Doesn't follow redirects, because the token and passwords may only be sent to `CLOUD_URL`. Connections are reused.
 */
export function createCloudLoginRequests({
  cloud,
  stopped,
  now,
  patience = PATIENCE,
}: CloudLoginRequestsOptions): CloudLoginRequests {
  async function send(path: string, { method, headers, body }: Asked): Promise<Response> {
    return fetch(new URL(`${SATELLITE_API}/${path}`, cloud.url), {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${cloud.token}`,
        accept: 'application/json',
        'user-agent': 'solhost',
        [CLOCK_HEADER]: String(Math.round(now())),
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.any([stopped, AbortSignal.timeout(patience)]),
    })
  }

  async function sendAgain(path: string, asked: Asked): Promise<Response> {
    try {
      return await send(path, asked)
    } catch (error) {
      if (!ENDED.includes(codeOfFailure(error) ?? '')) throw error
      return send(path, asked)
    }
  }

  async function ask<T>(path: string, asked: Asked, schema: z.ZodType<T>, most: number): Promise<CloudAnswer<T>> {
    try {
      const answer = await sendAgain(path, asked)
      const { status } = answer
      if (status !== 200) {
        await answer.body?.cancel()
        return answerOfStatus(answer, asked.headers?.['if-none-match'] !== undefined)
      }
      const text = await readAtMost(answer, most)
      if (text === null) return odd(`the control center’s response is longer than ${most} bytes`)
      const value = schema.safeParse(parsedJson(Buffer.from(text).toString('utf8')))
      if (!value.success) return odd('the control center’s response does not follow the protocol')
      const tag = answer.headers.get('etag') ?? ''
      return { kind: 'said', value: value.data, tag: TAG.test(tag) ? tag : null }
    } catch (error) {
      return { kind: 'away', why: whyNoAnswer(error), retryAfter: null }
    }
  }

  const post = (solution: string, what: string, request: AuthenticateRequest | RefreshRequest) =>
    ask(
      `solutions/${solution}/${what}`,
      { method: 'POST', body: JSON.stringify(request) },
      AuthenticateAnswer,
      MOST_ANSWER,
    )

  return {
    loginPage(solution, tag) {
      const headers: Record<string, string> = tag === null ? {} : { 'if-none-match': tag }
      return ask(`solutions/${solution}/login-page`, { method: 'GET', headers }, LoginPageAnswer, MOST_PAGE)
    },
    authenticate: (solution, request) => post(solution, 'authenticate', request),
    refresh: (solution, request) => post(solution, 'refresh', request),
  }
}

function answerOfStatus(answer: Response, hadTag: boolean): CloudAnswer<never> {
  const { status } = answer
  const wait = waitOf(answer, LONGEST_WAIT)
  const retryAfter = wait === null ? null : Math.max(1, Math.ceil(wait / 1000))
  const why = `the control center returned HTTP ${status}`
  if (status === 304 && hadTag) return { kind: 'unchanged' }
  if (status === 429) return { kind: 'throttled', retryAfter: retryAfter ?? 60 }
  if (status === 401 || status === 403) return { kind: 'token', why, retryAfter: null }
  if (status === 404) return { kind: 'unknown', why, retryAfter: null }
  if (status === 408 || status >= 500) return { kind: 'away', why, retryAfter }
  return odd(why)
}

function odd(why: string): CloudFailure {
  return { kind: 'answer', why, retryAfter: null }
}
