import { isJsonObject } from '../../runtime/json.ts'
import type { Provider } from './provider.ts'
import { type FindKey, readSignedToken, readUncheckedClaims } from './signed-token.ts'
import { checkAudience, checkId, checkIssuer, checkTimes, refused } from './token-claims.ts'

/** The values that a logout token must match. Times are epoch milliseconds. */
export type ExpectedLogoutToken = {
  readonly provider: Provider
  readonly clientId: string
  readonly now: number
  /** The allowed clock difference in ms, from `OAUTH_CLOCK_SKEW`. */
  readonly skew: number
  readonly key: FindKey
}

/**
 * Identifies the sessions that a provider ended. This is the session `sid` if the token has that claim, otherwise all
 * of the user's sessions.
 */
export type LogoutToken = {
  readonly iss: string
  readonly sub: string | null
  readonly sid: string | null
  /** The token's id. The caller must accept each id only once. */
  readonly jti: string
  /** Epoch ms. */
  readonly issuedAt: number
}

const WHAT = 'the logout token'
/**
 * Many providers send `JWT` or no type, as in ID tokens. So the two kinds of token are told apart by their claims, not
 * their type.
 */
const TYPES = ['jwt', 'logout+jwt']
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/**
 * Maximum age of a token, in ms. Providers send logout tokens immediately. After this time, the caller may forget the
 * `jti`.
 */
export const LOGOUT_TOKEN_AGE = 10 * 60_000

/**
 * Checks a token that a provider sends directly to the host to end sessions.
 * @throws OAuthProblem `oauth_token`; `oauth_clock` if a clock difference is the only error; and the errors of
 *   `expected.key`
 * @see OpenID Connect Back-Channel Logout 1.0, sections 2.4 and 2.6
 */
export async function checkLogoutToken(token: string, expected: ExpectedLogoutToken): Promise<LogoutToken> {
  const { provider, clientId, now, skew } = expected
  const { claims } = await readSignedToken(token, {
    what: WHAT,
    types: TYPES,
    algorithms: provider.idTokenAlgorithms,
    key: expected.key,
  })
  const iss = checkIssuer(WHAT, claims, provider)
  checkAudience(WHAT, claims, clientId)
  if (!isEvent(claims.events)) throw refused(WHAT, `must have an object "events" that contains the object "${EVENT}"`)
  // Ensures that an ID token can't be used as a logout token, and vice versa.
  if (claims.nonce !== undefined) throw refused(WHAT, 'must have no "nonce"')
  const sub = claims.sub === undefined ? null : checkId(WHAT, claims, 'sub')
  const sid = claims.sid === undefined ? null : checkId(WHAT, claims, 'sid')
  if (sub === null && sid === null) throw refused(WHAT, 'must have "sub" or "sid"')
  const jti = checkId(WHAT, claims, 'jti')
  const earliestIs = `the earliest time allowed, ${LOGOUT_TOKEN_AGE / 60_000} minutes ago`
  const issuedAt = checkTimes(WHAT, claims, { earliest: now - LOGOUT_TOKEN_AGE, earliestIs, now, skew })
  return { iss, sub, sid, jti, issuedAt }
}

/**
 * Reads a token's issuer and audience, to find the key that verifies the token. Don't trust these values yet.
 * @returns null if the text is not a token, or the token lacks these claims
 */
export function readUnchecked(token: string): { readonly iss: string; readonly aud: readonly string[] } | null {
  const { iss, aud } = readUncheckedClaims(token) ?? {}
  const audience: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const isNamed = typeof iss === 'string' && iss !== '' && audience.length > 0
  return isNamed && audience.every((one) => typeof one === 'string') ? { iss, aud: audience } : null
}

function isEvent(events: unknown): boolean {
  return isJsonObject(events) && Object.hasOwn(events, EVENT) && isJsonObject(events[EVENT])
}
