import type { AccountSourceName } from '../../base/accounts/account-source-name.ts'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import { type Remembered, type RememberedUser, selectorOf } from '../../base/accounts/remembered.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import type { Effects } from '../../base/bundles/host-call.ts'
import { readCookies, setCookie } from '../../base/http/cookies.ts'
import type { Login } from '../../plugins/security/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../access/audit.ts'
import type { Arrival } from './arrival.ts'
import type { FormTokens } from './form-token.ts'
import { signInModeOf } from './sign-in-mode.ts'

/** What a session rests on. */
export type SessionBasis = {
  /** '' where nothing that a source knows counts, as for login tokens. */
  readonly source: AccountSourceName
  /** The sign-in by a provider, or null. */
  readonly providerLogin: string | null
  /** Asked once the session is there: what ended the user's access before that found no session to end. */
  readonly stillHolds: () => Promise<boolean>
}

/**
 * Of a token, which a script made for any uid it likes: nothing that a source knows of that uid holds for its bearer, and
 * nobody could be asked about it again.
 */
export const BASIS_OF_TOKEN: SessionBasis = { source: '', providerLogin: null, stillHolds: async () => true }

export type SessionParts = {
  readonly sessions: Sessions
  readonly remembered: Remembered
  readonly formTokens: FormTokens
  readonly audit: Audit
  readonly limits: Limits
}

type Accepted = { readonly login: Login; readonly effects: Effects }

/**
 * Signs in by credentials that were given just now. What was remembered in this browser ends; `remember` begins a new
 * series, null does not.
 * @returns as `startSession`
 */
export async function acceptSignIn(
  arrival: Arrival,
  accepted: Accepted,
  basis: SessionBasis,
  remember: Pick<RememberedUser, 'custom'> | null,
  parts: SessionParts,
): Promise<FoundSession | null> {
  const { ctx, solution, scope } = arrival
  const { remembered, audit, limits } = parts
  const { login, effects } = accepted
  const { source, providerLogin } = basis
  const before = readCookies(ctx, 'remember', scope)
  for (const one of before) await remembered.end(solution.name, one)
  const user = { ...login, source, providerLogin, ...valuesOf(arrival, effects) }
  const cookie = remember === null ? null : await remembered.start(solution.name, { ...user, ...remember })
  if (before.length > 0) setCookie(ctx, 'remember', scope, null)
  const selector = cookie === null ? null : selectorOf(cookie)
  const session = await startSession(arrival, accepted, basis, selector, parts)
  if (session === null) {
    if (cookie !== null) await remembered.end(solution.name, cookie)
    return null
  }
  if (cookie !== null) setCookie(ctx, 'remember', scope, cookie, limits.REMEMBER_LIFETIME)
  audit.note({ ...signInFacts(arrival, login.username), outcome: 'ok' })
  return session
}

/**
 * A new session id at each login; the session that the browser had ends.
 * @param selector of the remembered login that it is made from or with, or null
 * @returns null when the user's access ended meanwhile: nobody is signed in
 */
export async function startSession(
  arrival: Arrival,
  { login, effects }: Accepted,
  { source, providerLogin, stillHolds }: SessionBasis,
  selector: string | null,
  { sessions, remembered, formTokens }: SessionParts,
): Promise<FoundSession | null> {
  const { ctx, solution, scope, address } = arrival
  for (const before of readCookies(ctx, 'session', scope)) await sessions.end(solution.name, before)
  const session = {
    ...login,
    solution: solution.name,
    ...valuesOf(arrival, effects),
    source,
    selector,
    providerLogin,
  }
  const { cookie, publicId, loggedInAt } = await sessions.start({ ...session, address })
  if (!(await stillHolds()) || (selector !== null && !(await remembered.isAlive(selector)))) {
    await sessions.end(solution.name, cookie)
    return null
  }
  setCookie(ctx, 'session', scope, cookie)
  formTokens.renew(ctx, scope)
  return { session: { ...session, publicId, loggedInAt }, cookie }
}

/** What the audit says of every try to sign in, but how it ended. */
export function signInFacts({ solution, address, correlationId }: Arrival, username: string) {
  const mode = signInModeOf(solution)
  return {
    actor: `user:${username}`,
    action: 'sign-in',
    solution: solution.name,
    mode,
    address,
    correlationId,
  } as const
}

/** Tenant and locale of a sign-in: what the script set, else the language that the browser asks for. */
export function valuesOf({ locale }: Pick<Arrival, 'locale'>, effects: Pick<Effects, 'tenant' | 'locale'>) {
  return { tenant: effects.tenant, locale: effects.locale ?? locale }
}
