import { OAuthProblem, quote } from './problems.ts'
import type { Provider } from './provider.ts'

// Checks that ID tokens and logout tokens have in common. `what` names the token in the error's text; all throw OAuthProblem.

type RawClaims = Readonly<Record<string, unknown>>

/** Characters of an `iss` that the settings do not name exactly. */
const LONGEST_ISSUER = 500
/** Characters of `sub` (OIDC Core section 2), and here of `sid` and `jti` too. */
const LONGEST_ID = 255
/** The farthest that a clock is thought to be wrong, in ms beyond the skew. A token farther away is an old one, or no real one. */
const CLOCK_FAULT = 24 * 3_600_000
/** The last moment that a Date can hold, in epoch ms: later ones, and earlier than its negative, are no times. */
const LAST_DATE = 8.64e15

/** `iss`, letter by letter (OIDC Core section 3.1.3.7, 2). @returns it */
export function checkIssuer(what: string, claims: RawClaims, provider: Provider): string {
  const { iss } = claims
  if (typeof iss === 'string' && isIssuer(iss, claims.tid, provider)) return iss
  const { issuer, issuerOrigins } = provider
  const wanted = issuer === null ? `an address at ${issuerOrigins.join(' or ')}` : quote(issuer)
  throw refused(what, `must have as "iss" ${wanted}; it is ${quote(iss)}`)
}

function isIssuer(iss: string, tid: unknown, { issuer, issuerHasTenant, issuerOrigins }: Provider): boolean {
  if (issuer === null) {
    const isPlain = iss.length <= LONGEST_ISSUER && /^[!-~]+$/.test(iss) && !/[?#\\]/.test(iss)
    return isPlain && issuerOrigins.some((origin) => iss === origin || iss.startsWith(`${origin}/`))
  }
  if (!issuerHasTenant) return iss === issuer
  return typeof tid === 'string' && isTenantId(tid) && iss === issuer.split('{tenantid}').join(tid)
}

/** Microsoft's tenants have a GUID, in small letters. */
export function isTenantId(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
}

/**
 * `aud` and `azp` (OIDC Core section 3.1.3.7, 3 to 5).
 *
 * Chosen here: a token that is meant for somebody else as well is refused, since none of the others is trusted.
 */
export function checkAudience(what: string, claims: RawClaims, clientId: string): void {
  const { aud, azp } = claims
  const isOurs = aud === clientId || (Array.isArray(aud) && aud.length === 1 && aud[0] === clientId)
  if (!isOurs) {
    const came = Array.isArray(aud) ? `a list of ${aud.length}` : quote(aud)
    throw refused(what, `must be for ${quote(clientId)} alone; its "aud" is ${came}`)
  }
  if (azp !== undefined && azp !== clientId)
    throw refused(what, `must have as "azp" ${quote(clientId)}, or none; it is ${quote(azp)}`)
}

/** A text of 1 to 255 characters, none of them a control character. */
export function checkId(what: string, claims: RawClaims, name: string): string {
  const value = claims[name]
  if (typeof value === 'string' && value.length <= LONGEST_ID && /^[^\p{Cc}\p{Cs}]+$/u.test(value)) return value
  const came = typeof value === 'string' ? `has ${value.length}` : `is ${quote(value)}`
  throw refused(what, `must have a "${name}" of 1 to ${LONGEST_ID} characters without control characters; it ${came}`)
}

export type TimeBounds = {
  /** What `iat` must not be before, in epoch ms, and what that moment is called. */
  readonly earliest: number
  readonly earliestIs: string
  /** Epoch ms. */
  readonly now: number
  /** How far the clocks may be apart, in ms. */
  readonly skew: number
}

/**
 * `exp`, `iat` and `nbf`. Make this check last: what it says of the clocks is only true of a token without other faults.
 * @returns `iat` in epoch ms
 * @throws OAuthProblem `oauth_clock` where clocks that differ by less than a day explain every fault, else `oauth_token`
 */
export function checkTimes(what: string, claims: RawClaims, { earliest, earliestIs, now, skew }: TimeBounds): number {
  const exp = readTime(what, claims, 'exp')
  const iat = readTime(what, claims, 'iat')
  const nbf = claims.nbf === undefined ? now : readTime(what, claims, 'nbf')
  const over = [
    { by: now - skew - exp, isOver: exp + skew <= now, is: `expired at ${shown(exp)}` },
    { by: iat - now - skew, isOver: iat > now + skew, is: `was issued at ${shown(iat)}, which is still to come` },
    { by: nbf - now - skew, isOver: nbf > now + skew, is: `must not be used before ${shown(nbf)}` },
    {
      by: earliest - skew - iat,
      // A second is cut off, not rounded: what was issued within the same second was not issued before.
      isOver: iat + 1000 <= earliest - skew,
      is: `was issued at ${shown(iat)}, before ${earliestIs} at ${shown(earliest)}`,
    },
  ].filter(({ isOver }) => isOver)
  const [first] = over
  if (first === undefined) return iat
  const clocks = `the provider's clock wrote ${shown(iat)}, this host's says ${shown(now)}, ${skew} ms apart are allowed`
  const isByClock = over.every(({ by }) => by <= CLOCK_FAULT)
  throw new OAuthProblem(isByClock ? 'oauth_clock' : 'oauth_token', `${what} ${first.is}: ${clocks}`)
}

/** A NumericDate (RFC 7519 section 2). @returns epoch ms */
export function readTime(what: string, claims: RawClaims, name: string): number {
  const value = claims[name]
  if (typeof value === 'number' && Math.abs(value * 1000) <= LAST_DATE) return value * 1000
  throw refused(what, `must have "${name}" as a number of seconds; it is ${quote(value)}`)
}

function shown(time: number): string {
  return new Date(time).toISOString()
}

export function refused(what: string, text: string): OAuthProblem {
  return new OAuthProblem('oauth_token', `${what} ${text}`)
}
