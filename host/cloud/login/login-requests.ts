import type { CloudSettings } from '../../../base/config/cloud-settings.ts'
import { codeOfFailure, readAtMost, waitOf, whyNoAnswer } from '../../../base/outbound/read-answer.ts'
import {
  AuthenticateAnswer,
  type AuthenticateRequest,
  LoginPageAnswer,
  type RefreshRequest,
  SATELLITE_API,
} from '../../../base/protocol/protocol.ts'
import type { z } from '../../../runtime/zod.ts'

/**
 * What the control center said to one request.
 * `away`: there is no connection, or it is in trouble; `retryAfter` in seconds where it named a time. `token`: it refuses the
 * remote environment token. `unknown`: its environment has no such solution. `answer`: what it said is no answer of the
 * protocol. `unchanged`: the page is the one of the tag that was sent.
 */
export type CloudAnswer<T> =
  | { readonly kind: 'said'; readonly value: T; readonly tag: string | null }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'throttled'; readonly retryAfter: number }
  | CloudFailure

export type CloudFailure = {
  readonly kind: 'away' | 'token' | 'unknown' | 'answer'
  /** For the operator: nothing in it was sent by the control center but numbers and codes. */
  readonly why: string
  readonly retryAfter: number | null
}

/** What the login of a Satellite asks of its control center (`base/protocol/protocol.ts`). */
export interface CloudLoginRequests {
  /** @param tag of the page that is known, or null */
  loginPage(solution: string, tag: string | null): Promise<CloudAnswer<LoginPageAnswer>>
  authenticate(solution: string, request: AuthenticateRequest): Promise<CloudAnswer<AuthenticateAnswer>>
  refresh(solution: string, request: RefreshRequest): Promise<CloudAnswer<AuthenticateAnswer>>
}

/** Of a page with its texts, and of an answer about somebody, in bytes as they come out of the wire's compression. */
const MOST_PAGE = 1024 ** 2
const MOST_ANSWER = 512 * 1024
/** One request with its whole answer, in ms. */
const PATIENCE = 5000
/** The control center cannot put a browser off for longer, in ms. */
const LONGEST_WAIT = 3_600_000
/** The other side ended a connection that was kept, as the request was on its way: it is sent once more. */
const ENDED = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']
/** RFC 9110, section 8.8.3; longer ones are not sent back. */
const TAG = /^(W\/)?"[\x21\x23-\x7e]{0,200}"$/

export type CloudLoginRequestsOptions = {
  readonly cloud: Pick<CloudSettings, 'url' | 'token'>
  readonly stopped: AbortSignal
  /** In ms. */
  readonly patience?: number
}

type Asked = { readonly method: 'GET' | 'POST'; readonly headers?: Record<string, string>; readonly body?: string }

/** No redirect is followed: token and password are for `CLOUD_URL` alone. Connections are kept for the next request. */
export function createCloudLoginRequests({
  cloud,
  stopped,
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
      if (text === null) return odd(`it is longer than ${most} bytes`)
      const value = schema.safeParse(parsed(text))
      if (!value.success) return odd('it is not in the form of the protocol')
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
  const why = `it answers ${status}`
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

function parsed(text: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(text).toString('utf8'))
  } catch {
    return undefined
  }
}
