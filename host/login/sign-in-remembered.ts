import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { Remembered, RememberedUse } from '../../base/accounts/remembered.ts'
import { type Ended, Refusal, type WayOfSigningIn, walkSignIn } from '../../base/accounts/sign-in-steps.ts'
import { isSourceAway } from '../../base/accounts/source-away.ts'
import { readCookies, setCookie } from '../../base/http/cookies.ts'
import type { Failed } from '../../runtime/outcome.ts'
import type { AccountSource } from './account-sources.ts'
import type { Arrival } from './arrival.ts'
import type { Accepted } from './sign-in-answer.ts'
import { type SessionBasis, type SessionParts, startSession, valuesOf } from './start-session.ts'

/** The result of signing in with a remembered login; null if the user has to sign in again. */
export type RememberedSignIn = { readonly found: FoundSession } | { readonly failure: Failed } | null

/** A page request from a browser that has a remembered login in `cookies`. */
type Asked = Arrival & { readonly source: AccountSource }
type Attempt = Asked & { readonly cookies: readonly string[] }
type Again = { readonly username: string; readonly found: FoundSession }
type Rechecked = { readonly known: KnownUse; readonly answer: Accepted }

/** Handles a page request from a browser that remembers its user. */
export const REMEMBERED: WayOfSigningIn<Asked, Attempt, Rechecked, Again, SessionParts, RememberedSignIn> = {
  // There is no form to check, but a prefetch must not sign the user in.
  ownPage: (asked) =>
    asked.ctx.get('Sec-Purpose') === ''
      ? { ...asked, cookies: readCookies(asked.ctx, 'remember', asked.scope) }
      : new Refusal(null, () => null),
  throttle: { none: 'The cookie is a random secret that nobody can guess.' },
  source: recheck,
  secondStep: { none: '`recheck` deletes remembered logins that do not meet the sign-in policy.' },
  accept: startAgain,
  audit: auditRemembered,
  // No redirect is needed: the response to this request is the requested page.
  redirect: (_asked, { found }) => ({ found }),
}

/**
 * Signs in the user that a browser remembers, if they may still sign in. If the source could not decide or throws an
 * error, the cookie and the remembered login stay unchanged.
 */
export function signInRemembered(
  arrival: Arrival,
  source: AccountSource,
  parts: SessionParts,
): Promise<RememberedSignIn> {
  return walkSignIn(REMEMBERED, { ...arrival, source }, parts)
}

async function recheck(
  attempt: Attempt,
  { remembered, sessions, secondStep }: SessionParts,
): Promise<Rechecked | Refusal<RememberedSignIn>> {
  const { ctx, solution, scope, source, cookies } = attempt
  const forget = () => setCookie(ctx, 'remember', scope, null)
  const known = await findUse(solution.name, cookies, remembered)
  if (known === null) {
    if (cookies.length > 0) forget()
    return new Refusal(null, () => null)
  }
  const { cookie, use } = known
  const { series } = use
  const endedBy = (outcome: string) => ({ outcome, username: series.username })
  // If the solution's sign-in mode has changed, no source can check this user anymore.
  if (use.kind === 'stolen' || series.source !== source.name) {
    await remembered.end(solution.name, cookie)
    if (use.kind === 'stolen') await sessions.endOfSeries(series.selector)
    forget()
    return new Refusal(use.kind === 'stolen' ? endedBy(STOLEN) : null, () => null)
  }
  try {
    const answer = await source.recheck(attempt, series)
    const isAllowed = answer.kind === 'accepted' && (await secondStep.allowsAgain(attempt, series, answer))
    if (answer.kind === 'accepted' && isAllowed) return { known, answer }
    if (answer.kind === 'failed') return new Refusal(endedBy(answer.failure.code), () => ({ failure: answer.failure }))
  } catch (error) {
    if (!isSourceAway(error)) throw error
    return new Refusal(endedBy(error.code), () => Promise.reject(error))
  }
  await remembered.end(solution.name, cookie)
  forget()
  return new Refusal(endedBy('refused'), () => null)
}

/** Starts a session, and sends the next cookie of the remembered login to the browser. */
async function startAgain(attempt: Attempt, { known, answer }: Rechecked, parts: SessionParts) {
  const { ctx, solution, scope, source } = attempt
  const { remembered, limits } = parts
  const { cookie, use } = known
  const { username, selector, providerLogin } = use.series
  const next =
    use.kind === 'current'
      ? await remembered.rotate(cookie, { ...answer.login, ...valuesOf(attempt, answer.effects) })
      : null
  // Another tab may have rotated the remembered login in the meantime, or someone may have ended it.
  const isAlive = next !== null || (await remembered.use(solution.name, cookie)).kind === 'previous'
  if (!isAlive) return new Refusal(null, () => null)
  if (next !== null) setCookie(ctx, 'remember', scope, next, limits.REMEMBER_LIFETIME)
  const stillHolds = () => source.stillHolds(attempt, answer, providerLogin)
  const { factorsOf, methods } = use.series
  const basis: SessionBasis = {
    source: use.series.source,
    providerLogin,
    factorsOf,
    methods,
    isConfirmed: false,
    stillHolds,
  }
  const found = await startSession(attempt, answer, basis, selector, parts)
  return found === null ? new Refusal({ outcome: 'refused', username }, () => null) : { username, found }
}

/** The outcome if a cookie is reused, which suggests that it was stolen. It has a separate action in the audit log. */
const STOLEN = 'stolen'

function auditRemembered(
  { solution, address, correlationId }: Asked,
  { outcome, username }: Ended,
  { audit }: SessionParts,
): void {
  const facts = { actor: `user:${username}`, solution: solution.name, address, correlationId }
  if (outcome === STOLEN) audit.note({ ...facts, action: 'remembered-theft', outcome: 'refused' })
  else audit.note({ ...facts, action: 'remembered-sign-in', outcome })
}

type KnownUse = { readonly cookie: string; readonly use: Exclude<RememberedUse, { kind: 'unknown' }> }

/**
 * Returns the remembered login for the first valid cookie. If none is valid, returns the login for a stolen cookie, if
 * any.
 */
export async function findUse(
  solution: string,
  cookies: readonly string[],
  remembered: Pick<Remembered, 'use'>,
): Promise<KnownUse | null> {
  let stolen: KnownUse | null = null
  for (const cookie of cookies) {
    const use = await remembered.use(solution, cookie)
    if (use.kind === 'current' || use.kind === 'previous') return { cookie, use }
    if (use.kind === 'stolen') stolen ??= { cookie, use }
  }
  return stolen
}
