import type { Failed } from '../../runtime/outcome.ts'
import type { OAuthProblemDetail, OAuthProblemPage } from '../web/pages.ts'

/**
 * The reasons why a sign-in at a provider failed. The solution's log and the audit log contain the key. The user sees a
 * page with the HTTP status `status` and the texts `platform.oauth.{page}.*`. A refused sign-in is a valid response,
 * not an error.
 */
export const OAUTH_PROBLEMS = {
  oauth_unknown_user: { status: 403, page: 'unknown-user', what: 'the authenticator did not sign the user in' },
  oauth_denied: {
    status: 403,
    page: 'denied',
    what: 'the provider reported that the sign-in was cancelled or denied',
  },
  oauth_provider: { status: 502, page: 'provider', what: 'the provider did not respond, or its response was invalid' },
  oauth_token: { status: 403, page: 'token', what: 'the provider’s response failed validation' },
  oauth_clock: {
    status: 502,
    page: 'clock',
    what: 'the times in the provider’s response don’t match the host’s clock',
  },
  oauth_configuration: {
    status: 503,
    page: 'configuration',
    what: 'the OAuth settings are missing or invalid, or the provider did not accept the request',
  },
  oauth_script: { status: 503, page: 'script', what: 'a script in the solution failed' },
  oauth_busy: { status: 503, page: 'busy', what: 'the host was too busy to run the solution’s script' },
  oauth_expired: {
    status: 400,
    page: 'expired',
    what: 'this browser has no sign-in in progress that matches the response',
  },
} as const satisfies Record<string, { readonly status: number; readonly page: OAuthProblemPage; readonly what: string }>

export type OAuthProblemCode = keyof typeof OAUTH_PROBLEMS

type OAuthProblemOptions = ErrorOptions & { readonly detail?: OAuthProblemDetail }

/**
 * Thrown to end a sign-in at a provider. The message is for the solution's author. It says what was expected and what
 * was received, quoted with `quote`. It never contains a token, an authorization code or a secret. The end user sees
 * the error page for `code`.
 */
export class OAuthProblem extends Error {
  readonly code: OAuthProblemCode
  /** A more specific cause, with a separate text on the page; null if only the code is known. */
  readonly detail: OAuthProblemDetail | null

  constructor(code: OAuthProblemCode, message: string, options: OAuthProblemOptions = {}) {
    super(message, options)
    this.name = 'OAuthProblem'
    this.code = code
    this.detail = options.detail ?? null
  }
}

/** Returns the problem for a failed script. The solution's log already contains the failure and its position. */
export function problemOfFailure({ code }: Failed, entry: string): OAuthProblem {
  return code === 'sandbox_busy'
    ? new OAuthProblem('oauth_busy', `no sandbox process was available to run ${entry}`)
    : new OAuthProblem('oauth_script', `${entry} failed with the error ${code}`)
}

/** Maximum characters of a text that a log line quotes. */
const QUOTED = 120

/**
 * Invisible characters that can move a terminal's cursor, end the line or reverse its direction. JSON does not escape
 * all of them.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Quotes an untrusted value safely for a log line. */
export function quote(value: unknown): string {
  if (typeof value !== 'string') return value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value
  const text = JSON.stringify(value.slice(0, QUOTED).toWellFormed()).replace(UNSEEN, escaped)
  return value.length > QUOTED ? `${text} (truncated; ${value.length} characters in total)` : text
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`
}
