import type { Provider } from './provider.ts'
import { type FindKey, readSignedToken, readUncheckedClaims } from './signed-token.ts'
import { checkAudience, checkId, checkIssuer, checkTimes, refused } from './token-claims.ts'

/** What one logout token must fit. Times are epoch milliseconds. */
export type ExpectedLogoutToken = {
  readonly provider: Provider
  readonly clientId: string
  readonly now: number
  /** How far the clocks may be apart, in ms: `OAUTH_CLOCK_SKEW`. */
  readonly skew: number
  readonly key: FindKey
}

/** Whose sessions a provider ended: those of the user, or where `sid` is named of that one session at the provider. */
export type LogoutToken = {
  readonly iss: string
  readonly sub: string | null
  readonly sid: string | null
  /** The caller takes each one once. */
  readonly jti: string
  /** Epoch ms. */
  readonly issuedAt: number
}

const WHAT = 'the logout token'
/** An ID token is told from it by its claims: many providers write `JWT` here too, or nothing. */
const TYPES = ['jwt', 'logout+jwt']
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** How old a logout token may be, in ms. A provider sends it at once; after this the caller may forget its `jti`. */
export const LOGOUT_TOKEN_AGE = 10 * 60_000

/**
 * Checks the token by which a provider ends sessions, sent from server to server.
 * @throws OAuthProblem `oauth_token`; `oauth_clock` when clocks that differ are its only fault; whatever `expected.key` throws
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
  if (!isEvent(claims.events)) throw refused(WHAT, `must have as "events" an object with the object "${EVENT}"`)
  // So that it is no ID token, and no ID token is one.
  if (claims.nonce !== undefined) throw refused(WHAT, 'must have no "nonce"')
  const sub = claims.sub === undefined ? null : checkId(WHAT, claims, 'sub')
  const sid = claims.sid === undefined ? null : checkId(WHAT, claims, 'sid')
  if (sub === null && sid === null) throw refused(WHAT, 'must have "sub" or "sid"')
  const jti = checkId(WHAT, claims, 'jti')
  const earliestIs = `the oldest that is taken, ${LOGOUT_TOKEN_AGE / 60_000} minutes ago,`
  const issuedAt = checkTimes(WHAT, claims, { earliest: now - LOGOUT_TOKEN_AGE, earliestIs, now, skew })
  return { iss, sub, sid, jti, issuedAt }
}

/**
 * Whom a token names as issuer and audience, to choose by whose keys it is checked. Nothing of it may be believed.
 * @returns null for what is no token, or has no such claims
 */
export function readUnchecked(token: string): { readonly iss: string; readonly aud: readonly string[] } | null {
  const { iss, aud } = readUncheckedClaims(token) ?? {}
  const audience: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const isNamed = typeof iss === 'string' && iss !== '' && audience.length > 0
  return isNamed && audience.every((one) => typeof one === 'string') ? { iss, aud: audience } : null
}

function isEvent(events: unknown): boolean {
  return isObject(events) && Object.hasOwn(events, EVENT) && isObject((events as Record<string, unknown>)[EVENT])
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
