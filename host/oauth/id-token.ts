import { createHash } from 'node:crypto'
import { isSameSecret } from '../../base/accounts/same-secret.ts'
import type { Claims, Provider } from './provider.ts'
import { type FindKey, readSignedToken } from './signed-token.ts'
import { checkAudience, checkId, checkIssuer, checkTimes, readTime, refused } from './token-claims.ts'

/** The values that an ID token must match. Times are epoch milliseconds. */
export type ExpectedIdToken = {
  readonly provider: Provider
  readonly clientId: string
  /** The nonce in the request; null if the request had none, as in a refresh. */
  readonly nonce: string | null
  /**
   * The nonce of the original sign-in, used if `nonce` is null. A token may omit this nonce, but must not contain a
   * different one (OIDC Core section 12.2).
   */
  readonly earlierNonce?: string | null | undefined
  /** When the sign-in or refresh started. An older token belongs to an earlier sign-in or refresh. */
  readonly startedAt: number
  readonly now: number
  /** The allowed clock difference in ms, from `OAUTH_CLOCK_SKEW`. */
  readonly skew: number
  /** The maximum time since the user signed in at the provider, in seconds. */
  readonly maxAge?: number | undefined
  /** The access token and the code that belong to the token. They must match its `at_hash` and `c_hash`, if present. */
  readonly accessToken?: string | undefined
  readonly code?: string | undefined
  /** The `sub` and `iss` of the original sign-in, set for a refresh. */
  readonly subject?: string | undefined
  readonly issuer?: string | undefined
  readonly key: FindKey
}

const WHAT = 'the ID token'
const TYPES = ['jwt']

/**
 * Checks an ID token. The checks are the same in every flow, because the browser may have sent the token.
 * @returns all its claims
 * @throws OAuthProblem `oauth_token`; `oauth_clock` if a clock difference is the only error; and the errors of
 *   `expected.key`. Messages never contain the token, its nonce or its subject.
 * @see OIDC Core sections 3.1.3.7, 3.2.2.11 and 12.2, RFC 7519, RFC 8725
 */
export async function checkIdToken(token: string, expected: ExpectedIdToken): Promise<Claims> {
  const { provider, clientId, now, skew, startedAt } = expected
  const { algorithm, claims } = await readSignedToken(token, {
    what: WHAT,
    types: TYPES,
    algorithms: provider.idTokenAlgorithms,
    key: expected.key,
  })
  const iss = checkIssuer(WHAT, claims, provider)
  checkAudience(WHAT, claims, clientId)
  const sub = checkId(WHAT, claims, 'sub')
  checkEarlier(iss, sub, expected)
  checkNonce(claims.nonce, expected)
  checkHash('at_hash', claims.at_hash, expected.accessToken, algorithm.hash)
  checkHash('c_hash', claims.c_hash, expected.code, algorithm.hash)
  if (expected.maxAge !== undefined) checkAge(claims, expected.maxAge, expected)
  checkTimes(WHAT, claims, { earliest: startedAt, earliestIs: 'the start of this sign-in', now, skew })
  return claims as Claims
}

function checkEarlier(iss: string, sub: string, { issuer, subject }: ExpectedIdToken): void {
  if (issuer !== undefined && iss !== issuer)
    throw refused(WHAT, 'has a different "iss" than the ID token of the original sign-in')
  if (subject !== undefined && sub !== subject)
    throw refused(WHAT, 'has a different "sub" than the ID token of the original sign-in')
}

function checkNonce(nonce: unknown, { nonce: asked, earlierNonce }: ExpectedIdToken): void {
  const wanted = asked ?? (nonce === undefined ? null : (earlierNonce ?? null))
  if (wanted !== null && !(typeof nonce === 'string' && isSameSecret(nonce, wanted)))
    throw refused(WHAT, `has ${nonce === undefined ? 'no "nonce"' : 'a "nonce" that does not match this sign-in'}`)
}

/**
 * Checks that the claim is the left half of the access token's or code's hash (OIDC Core sections 3.1.3.6 and
 * 3.3.2.11).
 */
function checkHash(name: 'at_hash' | 'c_hash', claim: unknown, came: string | undefined, algorithm: string): void {
  if (claim === undefined || came === undefined) return
  const hash = createHash(algorithm).update(came).digest()
  const half = hash.subarray(0, hash.length / 2).toString('base64url')
  if (typeof claim !== 'string' || !isSameSecret(claim, half))
    throw refused(
      WHAT,
      `has ${name === 'c_hash' ? 'a "c_hash" that does not match the code' : 'an "at_hash" that does not match the access token'}`,
    )
}

function checkAge(claims: Readonly<Record<string, unknown>>, maxAge: number, { now, skew }: ExpectedIdToken): void {
  const signedInAt = readTime(WHAT, claims, 'auth_time')
  if (signedInAt < now - maxAge * 1000 - skew)
    throw refused(WHAT, `says that the user signed in more than ${maxAge} s ago, which "max_age" does not allow`)
  if (signedInAt > now + skew) throw refused(WHAT, 'says that the user signed in at a time in the future')
}
