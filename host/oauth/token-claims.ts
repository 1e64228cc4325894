import { counted } from '../../base/program/counted.ts'
import { OAuthProblem, quote } from './problems.ts'
import type { Provider } from './provider.ts'

// Checks for both ID tokens and logout tokens. `what` is the token's name in error messages. All checks throw
// OAuthProblem.

type RawClaims = Readonly<Record<string, unknown>>

/** Maximum length, in characters, of an `iss` that the settings do not specify exactly. */
const LONGEST_ISSUER = 500
/** Maximum length of `sub` in characters (OIDC Core section 2), also used for `sid` and `jti`. */
const LONGEST_ID = 255
/**
 * In ms. If a token's times are off by more than the allowed clock difference plus this, the cause is not a wrong
 * clock: the token is old or forged.
 */
const CLOCK_FAULT = 24 * 3_600_000
/** The latest time that a Date can represent, in epoch ms. Its negative is the earliest. */
const LAST_DATE = 8.64e15

/**
 * Compares `iss` exactly (OIDC Core section 3.1.3.7, item 2).
 * @returns `iss`
 */
export function checkIssuer(what: string, claims: RawClaims, provider: Provider): string {
  const { iss } = claims
  if (typeof iss === 'string' && isIssuer(iss, claims.tid, provider)) return iss
  const { issuer, issuerOrigins } = provider
  const wanted = issuer === null ? `a URL at ${issuerOrigins.join(' or ')}` : quote(issuer)
  throw refused(what, `must have the "iss" ${wanted}, but has ${quote(iss)}`)
}

function isIssuer(iss: string, tid: unknown, { issuer, issuerHasTenant, issuerOrigins }: Provider): boolean {
  if (issuer === null) {
    const isPlain = iss.length <= LONGEST_ISSUER && /^[!-~]+$/.test(iss) && !/[?#\\]/.test(iss)
    return isPlain && issuerOrigins.some((origin) => iss === origin || iss.startsWith(`${origin}/`))
  }
  if (!issuerHasTenant) return iss === issuer
  return typeof tid === 'string' && isTenantId(tid) && iss === issuer.split('{tenantid}').join(tid)
}

/** Microsoft's tenant ids are lowercase GUIDs. */
export function isTenantId(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
}

/**
 * Checks `aud` and `azp` (OIDC Core section 3.1.3.7, items 3 to 5). Chosen here: a token with additional audiences is
 * rejected, since none of them is trusted.
 */
export function checkAudience(what: string, claims: RawClaims, clientId: string): void {
  const { aud, azp } = claims
  const isOurs = aud === clientId || (Array.isArray(aud) && aud.length === 1 && aud[0] === clientId)
  if (!isOurs) {
    const came = Array.isArray(aud) ? `a list of length ${aud.length}` : quote(aud)
    throw refused(what, `must be for ${quote(clientId)} only, but its "aud" is ${came}`)
  }
  if (azp !== undefined && azp !== clientId)
    throw refused(what, `must have no "azp", or the "azp" ${quote(clientId)}, but has ${quote(azp)}`)
}

/** Describes an invalid id without quoting it, because error messages never contain the subject. */
function oddityOf(value: unknown): string {
  if (value === undefined) return 'is missing'
  if (typeof value !== 'string') return 'is not a string'
  return value === '' || value.length > LONGEST_ID
    ? `has ${counted(value.length, 'character')}`
    : 'has invalid characters'
}

/** Requires a string of 1 to 255 characters without control characters. */
export function checkId(what: string, claims: RawClaims, name: string): string {
  const value = claims[name]
  if (typeof value === 'string' && value.length <= LONGEST_ID && /^[^\p{Cc}\p{Cs}]+$/u.test(value)) return value
  const oddity = oddityOf(value)
  throw refused(what, `must have a "${name}" of 1 to ${LONGEST_ID} characters without control characters; it ${oddity}`)
}

export type TimeBounds = {
  /** `earliest` is the earliest allowed `iat`, in epoch ms. `earliestIs` is the name of this time in error messages. */
  readonly earliest: number
  readonly earliestIs: string
  /** The current time, in epoch ms. */
  readonly now: number
  /** The allowed difference between the clocks, in ms. */
  readonly skew: number
}

/**
 * Checks `exp`, `iat` and `nbf`. Do this check last: it reports that the clocks differ, which is correct only if the
 * token has no other errors.
 * @returns `iat` in epoch ms
 * @throws OAuthProblem `oauth_clock` if a clock difference of up to a day explains all errors, otherwise `oauth_token`
 */
export function checkTimes(what: string, claims: RawClaims, { earliest, earliestIs, now, skew }: TimeBounds): number {
  const exp = readTime(what, claims, 'exp')
  const iat = readTime(what, claims, 'iat')
  const nbf = claims.nbf === undefined ? now : readTime(what, claims, 'nbf')
  const over = [
    { by: now - skew - exp, isOver: exp + skew <= now, is: `expired at ${shown(exp)}` },
    { by: iat - now - skew, isOver: iat > now + skew, is: `was issued at ${shown(iat)}, which is in the future` },
    { by: nbf - now - skew, isOver: nbf > now + skew, is: `must not be used before ${shown(nbf)}` },
    {
      by: earliest - skew - iat,
      // `iat` is truncated to whole seconds, so a token issued within the same second is not too old.
      isOver: iat + 1000 <= earliest - skew,
      is: `was issued at ${shown(iat)}, which is before ${shown(earliest)} (${earliestIs})`,
    },
  ].filter(({ isOver }) => isOver)
  const [first] = over
  if (first === undefined) return iat
  const clocks = `the provider's clock showed ${shown(iat)} and this host's clock shows ${shown(now)}; they may differ by at most ${skew} ms`
  const isByClock = over.every(({ by }) => by <= CLOCK_FAULT)
  throw new OAuthProblem(isByClock ? 'oauth_clock' : 'oauth_token', `${what} ${first.is}: ${clocks}`)
}

/** A NumericDate (RFC 7519 section 2). @returns epoch ms */
export function readTime(what: string, claims: RawClaims, name: string): number {
  const value = claims[name]
  if (typeof value === 'number' && Math.abs(value * 1000) <= LAST_DATE) return value * 1000
  throw refused(what, `must have a number of seconds in "${name}", but has ${quote(value)}`)
}

function shown(time: number): string {
  return new Date(time).toISOString()
}

export function refused(what: string, text: string): OAuthProblem {
  return new OAuthProblem('oauth_token', `${what} ${text}`)
}
