import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { Remembered, RememberedUse } from '../../base/accounts/remembered.ts'
import { readCookies, setCookie } from '../../base/http/cookies.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Failed } from '../../runtime/outcome.ts'
import type { AuditAction } from '../access/audit.ts'
import type { AccountSource } from './account-sources.ts'
import type { Arrival } from './arrival.ts'
import { type SessionBasis, type SessionParts, startSession, valuesOf } from './start-session.ts'

/** The result of a remembered login; null if the user has to sign in. */
export type RememberedSignIn = { readonly found: FoundSession } | { readonly failure: Failed } | null

/**
 * Signs in the user of a remembered browser, if they may still sign in. Only a navigation counts, not a prefetch
 * (`Sec-Purpose`).
 *
 * If the source could not answer (`failure`, or it throws), the cookie and the remembered login stay unchanged.
 */
export async function signInRemembered(
  arrival: Arrival,
  source: AccountSource,
  parts: SessionParts,
): Promise<RememberedSignIn> {
  const { ctx, solution, scope, address, correlationId } = arrival
  const { remembered, sessions, audit, limits } = parts
  const cookies = ctx.get('Sec-Purpose') === '' ? readCookies(ctx, 'remember', scope) : []
  const known = await findUse(solution.name, cookies, remembered)
  if (known === null) {
    if (cookies.length > 0) setCookie(ctx, 'remember', scope, null)
    return null
  }
  const { cookie, use } = known
  const { series } = use
  const facts = { actor: `user:${series.username}`, solution: solution.name, address, correlationId }
  const note = (action: AuditAction, outcome: string) => audit.note({ ...facts, action, outcome })
  // If the solution's sign-in mode has changed, no source can check this user any more.
  const isOfMode = series.source === source.name
  if (use.kind === 'stolen' || !isOfMode) {
    await remembered.end(solution.name, cookie)
    if (use.kind === 'stolen') {
      await sessions.endOfSeries(series.selector)
      note('remembered-theft', 'refused')
    }
    setCookie(ctx, 'remember', scope, null)
    return null
  }
  const answer = await source.recheck(arrival, series).catch((error: unknown) => {
    if (error instanceof PlatformError && error.code.startsWith('ERR_CLOUD_')) note('remembered-sign-in', error.code)
    throw error
  })
  if (answer.kind === 'failed') {
    note('remembered-sign-in', answer.failure.code)
    return { failure: answer.failure }
  }
  if (answer.kind === 'refused') {
    await remembered.end(solution.name, cookie)
    setCookie(ctx, 'remember', scope, null)
    note('remembered-sign-in', 'refused')
    return null
  }
  const next =
    use.kind === 'current'
      ? await remembered.rotate(cookie, { ...answer.login, ...valuesOf(arrival, answer.effects) })
      : null
  // Another tab may have rotated it in the meantime, or it was ended.
  if (next === null && (await remembered.use(solution.name, cookie)).kind !== 'previous') return null
  if (next !== null) setCookie(ctx, 'remember', scope, next, limits.REMEMBER_LIFETIME)
  const { providerLogin } = series
  const stillHolds = () => source.stillHolds(arrival, answer, providerLogin)
  const basis: SessionBasis = { source: series.source, providerLogin, stillHolds }
  const found = await startSession(arrival, answer, basis, series.selector, parts)
  note('remembered-sign-in', found === null ? 'refused' : 'ok')
  return found === null ? null : { found }
}

type KnownUse = { readonly cookie: string; readonly use: Exclude<RememberedUse, { kind: 'unknown' }> }

/** Returns the valid cookie. A stolen one is returned only if none is valid. */
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
