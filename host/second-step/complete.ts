import type { FactorAccount } from '../../base/accounts/factor-account.ts'
import type { Session } from '../../base/accounts/sessions.ts'
import { Refusal, type WayOfSigningIn } from '../../base/accounts/sign-in-steps.ts'
import { noEffects } from '../../base/bundles/host-call.ts'
import { readCookies, setCookie } from '../../base/http/cookies.ts'
import { goTo } from '../../base/http/go-to.ts'
import { isStillAllowed } from '../login/account-sources.ts'
import type { Arrival } from '../login/arrival.ts'
import { cameFromOwnPage } from '../login/own-page.ts'
import { redirectSignedIn, type SignedIn } from '../login/redirect-signed-in.ts'
import { signInModeOf } from '../login/sign-in-mode.ts'
import { acceptSignIn, auditSignIn, type SessionBasis } from '../login/start-session.ts'
import { nextStepOf } from './gate.ts'
import type { FoundSignIn } from './open-sign-ins.ts'
import { stepPath } from './paths.ts'
import type { SecondStepParts } from './second-step-parts.ts'
import { sendStepOver } from './send-pages.ts'

/** A form on one of the step pages. */
export type StepForm = Arrival & { readonly fields: ReadonlyMap<string, string> }
/** A form, and the sign-in that this browser started. */
export type StepAttempt = StepForm & { readonly found: FoundSignIn }

/** A way to sign in from one of the step pages. */
export type StepWay = WayOfSigningIn<StepForm, StepAttempt, StepAttempt, SignedIn, SecondStepParts>

/** The steps shared by all ways to sign in. */
export const STEP_WAY: Pick<StepWay, 'ownPage' | 'accept' | 'audit' | 'redirect'> = {
  ownPage: checkPage,
  accept: (_attempt, done, parts) => complete(done, parts),
  audit: auditSignIn,
  redirect: redirectSignedIn,
}

/** @returns this browser's open sign-in, or null */
export function findOpen({ ctx, solution, scope }: Arrival, { openSignIns }: SecondStepParts) {
  return openSignIns.find(solution.name, readCookies(ctx, 'step', scope))
}

/** @returns this browser's open sign-in if the form came from our own page; otherwise the error page to show */
async function checkPage(form: StepForm, parts: SecondStepParts): Promise<StepAttempt | Refusal> {
  const found = await findOpen(form, parts)
  const isOwn = cameFromOwnPage(form, form.fields, parts.formTokens)
  return found !== null && isOwn ? { ...form, found } : new Refusal(null, () => sendStepOver(form))
}

/**
 * Sends the browser to the page of the next step, if there is one.
 * @returns the sign-in if all its steps are done
 */
export async function advance(attempt: StepAttempt, parts: SecondStepParts): Promise<StepAttempt | Refusal> {
  const { ctx, solution, locale, found } = attempt
  const { open } = found
  const next = await nextStepOf(attempt, open, parts)
  if (next.step === 'second-step') return new Refusal(null, () => goTo(ctx, stepPath(solution.name, next.step)))
  if (open.password?.mustChangePassword) {
    const user = await parts.users.get(open.login.uid)
    const isSame = user?.enabled && user.passwordChangedAt === open.password.passwordChangedAt
    if (!isSame || !(await parts.openSignIns.finish(found))) return over(attempt)
    return new Refusal(null, () => {
      setCookie(ctx, 'step', attempt.scope, null)
      parts.changePassword.demand(ctx, solution, locale, user)
    })
  }
  if (next.step === 'set-up') return new Refusal(null, () => goTo(ctx, stepPath(solution.name, next.step)))
  return attempt
}

/** Starts the session after the last step. If several requests arrive in parallel, exactly one succeeds. */
async function complete(attempt: StepAttempt, parts: SecondStepParts): Promise<SignedIn | Refusal> {
  const { ctx, solution, scope, found } = attempt
  const { account, login, tenant, locale, showUrl, page, source, providerLogin, methods, remember, knownAs, password } =
    found.open
  const mode = signInModeOf(solution)
  const own = mode === 'NONE' || mode === 'LOGIN_FORM' ? null : parts.accountSources.ofMode(mode)
  // Whether the solution's sign-in mode has changed since the first step.
  const isOther = own === null ? source !== '' || mode === 'NONE' : own.name !== source
  if (isOther || !(await parts.openSignIns.finish(found))) return over(attempt)
  const accepted = { login, effects: { ...noEffects(), login, tenant, locale, showUrl } }
  const basis: SessionBasis = {
    source,
    providerLogin,
    factorsOf: account.source,
    methods,
    isConfirmed: true,
    stillHolds: async () =>
      (await isStillAllowed(parts.users, account, password)) &&
      (own === null || own.stillHolds(attempt, { ...accepted, user: password }, providerLogin)),
  }
  const session = await acceptSignIn(attempt, accepted, basis, remember, parts)
  setCookie(ctx, 'step', scope, null)
  if (session === null) return over(attempt)
  if (knownAs !== null) parts.knownBrowsers.note(ctx, scope, knownAs.source, knownAs.username)
  return { username: login.username, showUrl, page, locale }
}

function over(attempt: StepAttempt): Refusal {
  return new Refusal({ outcome: 'refused', username: attempt.found.open.login.username }, () => sendStepOver(attempt))
}

/**
 * Ends the account's sessions, remembered logins and open sign-ins, after its factors changed.
 * @param except what to keep
 */
export async function endOthers(
  account: FactorAccount,
  except: { readonly session?: Pick<Session, 'publicId' | 'selector'>; readonly open?: FoundSignIn },
  { sessions, remembered, openSignIns }: Pick<SecondStepParts, 'sessions' | 'remembered' | 'openSignIns'>,
): Promise<void> {
  const { source, solution, uid } = account
  const owner = { factorsOf: source, uid }
  const realm = solution === '' ? null : solution
  await sessions.endOfAccount(owner, realm, except.session?.publicId ?? null)
  await remembered.endOfAccount(owner, realm, except.session?.selector ?? null)
  await openSignIns.endOfAccount(account, except.open ?? null)
}
