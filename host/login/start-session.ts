import type { AccountSourceName } from '../../base/accounts/account-source-name.ts'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { FormTokens } from '../../base/accounts/form-token.ts'
import { type Remembered, type RememberedUser, selectorOf } from '../../base/accounts/remembered.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import type { Ended } from '../../base/accounts/sign-in-steps.ts'
import type { Effects } from '../../base/bundles/host-call.ts'
import { readCookies, setCookie } from '../../base/http/cookies.ts'
import { agentOf } from '../../base/http/request.ts'
import type { Login } from '../../plugins/security/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../access/audit.ts'
import type { Arrival } from './arrival.ts'
import type { SecondStepGate } from './second-step-gate.ts'
import { signInModeOf } from './sign-in-mode.ts'

/** The sign-in that a session is based on. */
export type SessionBasis = {
  /** The account's source; '' if no source can revoke the session, for example after a sign-in with a login token. */
  readonly source: AccountSourceName
  /** The id of the sign-in at an OAuth provider, or null. */
  readonly providerLogin: string | null
  /** The source of the account whose second factors are used. */
  readonly factorsOf: AccountSourceName
  readonly methods: readonly SignInMethod[]
  /** Whether the user has just entered credentials. */
  readonly isConfirmed: boolean
  /**
   * Whether the sign-in is still valid. Call this after storing the session. If the user's access ended just before
   * that, nothing else ends the new session.
   */
  readonly stillHolds: () => Promise<boolean>
}

/**
 * The basis of a session if the user signed in with a token. A script may issue a token for any uid, even another
 * user's. No source can check the user again.
 */
export const BASIS_OF_TOKEN: SessionBasis = {
  source: '',
  providerLogin: null,
  factorsOf: '',
  methods: ['token'],
  isConfirmed: true,
  stillHolds: async () => true,
}

export type SessionParts = {
  readonly sessions: Sessions
  readonly remembered: Remembered
  readonly formTokens: FormTokens
  readonly audit: Audit
  readonly limits: Limits
  readonly secondStep: SecondStepGate
}

type Accepted = { readonly login: Login; readonly effects: Effects }

/**
 * Signs in a user whose credentials have just been checked. Ends the browser's remembered login.
 * @param remember if not null, a new remembered login is started
 * @returns the result of `startSession`
 */
export async function acceptSignIn(
  arrival: Arrival,
  accepted: Accepted,
  basis: SessionBasis,
  remember: Pick<RememberedUser, 'custom'> | null,
  parts: SessionParts,
): Promise<FoundSession | null> {
  const { ctx, solution, scope } = arrival
  const { remembered, limits } = parts
  const { login, effects } = accepted
  const { source, providerLogin, factorsOf, methods } = basis
  const before = readCookies(ctx, 'remember', scope)
  for (const one of before) await remembered.end(solution.name, one)
  const user = {
    ...login,
    source,
    providerLogin,
    factorsOf,
    methods,
    agent: agentOf(ctx),
    ...valuesOf(arrival, effects),
  }
  const cookie = remember === null ? null : await remembered.start(solution.name, { ...user, ...remember })
  if (before.length > 0) setCookie(ctx, 'remember', scope, null)
  const selector = cookie === null ? null : selectorOf(cookie)
  const session = await startSession(arrival, accepted, basis, selector, parts)
  if (session === null) {
    if (cookie !== null) await remembered.end(solution.name, cookie)
    return null
  }
  if (cookie !== null) setCookie(ctx, 'remember', scope, cookie, limits.REMEMBER_LIFETIME)
  return session
}

/**
 * Starts a session with a new id and ends the browser's previous one.
 * @param selector the remembered login that the session belongs to, or null
 * @returns null if the user's access ended in the meantime, so they are not signed in
 */
export async function startSession(
  arrival: Arrival,
  { login, effects }: Accepted,
  { source, providerLogin, factorsOf, methods, isConfirmed, stillHolds }: SessionBasis,
  selector: string | null,
  { sessions, remembered, formTokens }: SessionParts,
): Promise<FoundSession | null> {
  const { ctx, solution, scope, address } = arrival
  for (const before of readCookies(ctx, 'session', scope)) await sessions.end(solution.name, before)
  const session = {
    ...login,
    realm: solution.name,
    ...valuesOf(arrival, effects),
    source,
    selector,
    providerLogin,
    factorsOf,
    methods,
    agent: agentOf(ctx),
    isConfirmed,
  }
  const { cookie, publicId, loggedInAt } = await sessions.start({ ...session, address })
  if (!(await stillHolds()) || (selector !== null && !(await remembered.isAlive(selector)))) {
    await sessions.end(solution.name, cookie)
    return null
  }
  setCookie(ctx, 'session', scope, cookie)
  formTokens.renew(ctx, scope)
  return { session: { ...session, publicId, loggedInAt, confirmedAt: isConfirmed ? loggedInAt : null }, cookie }
}

/** Records in the audit log how a sign-in ended. */
export function auditSignIn(
  { solution, address, correlationId }: Arrival,
  { outcome, username, isRepeatable }: Ended,
  { audit }: Pick<SessionParts, 'audit'>,
): void {
  const facts = { solution: solution.name, mode: signInModeOf(solution), address, correlationId }
  const entry = { ...facts, actor: `user:${username}`, action: 'sign-in', outcome } as const
  if (isRepeatable) audit.noteOnce(entry)
  else audit.note(entry)
}

/** Returns the tenant and locale that the script set. The locale defaults to the browser's language. */
export function valuesOf({ locale }: Pick<Arrival, 'locale'>, effects: Pick<Effects, 'tenant' | 'locale'>) {
  return { tenant: effects.tenant, locale: effects.locale ?? locale }
}
