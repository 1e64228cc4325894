import type { Context } from 'koa'
import { checkForm, enteredMethod, refusalOf } from '../../base/accounts/check-factor.ts'
import { type FactorAccount, factorAccount } from '../../base/accounts/factor-account.ts'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { Session } from '../../base/accounts/sessions.ts'
import { hasSecondStep, type SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import { hasFactor, type UsableFactors, usableFactors } from '../../base/accounts/usable-factors.ts'
import { goTo } from '../../base/http/go-to.ts'
import { platformText } from '../../base/web/texts.ts'
import type { Arrival } from '../login/arrival.ts'
import { auditFactor } from '../login/audit-factor.ts'
import { passwordPath } from '../login/change-password.ts'
import { refuseOwnPassword } from '../login/own-password.ts'
import { sendPage } from '../login/send-page.ts'
import { type ConfirmModel, confirmPage } from '../web/pages.ts'
import { accountPath, confirmPath } from './paths.ts'
import { auditAnswer } from './second-step.ts'
import type { SecondStepParts } from './second-step-parts.ts'
import { formModel } from './send-pages.ts'

/** The pages to which the browser can return after a confirmation. */
const PAGES = ['account', 'password'] as const
type Page = (typeof PAGES)[number]

/** How a user can confirm their identity. `sign-in`: only by signing in again. */
type Way = Exclude<ConfirmModel['way'], 'recent'>

/** The account whose second factors apply to a session. */
export function accountOf({ factorsOf, realm, uid }: Pick<Session, 'factorsOf' | 'realm' | 'uid'>): FactorAccount {
  return factorAccount(factorsOf, realm, uid)
}

export type ConfirmationParts = Pick<SecondStepParts, 'factors' | 'limits' | 'now'> & {
  readonly passkeyRequests: Pick<SecondStepParts['passkeyRequests'], 'places'>
}

/**
 * Whether the user must confirm their identity before they change their password or a factor. Users who have a factor
 * must confirm with it.
 */
export async function confirmationOf(
  { session }: Pick<FoundSession, 'session'>,
  serverUrl: string,
  parts: ConfirmationParts,
): Promise<{ readonly isNeeded: boolean; readonly hasFactor: boolean }> {
  const usable = usableFactors(await parts.factors.of(accountOf(session)), serverUrl, parts)
  const has = hasFactor(usable)
  return { isNeeded: !isRecent(session, parts) || (has && !hasSecondStep(session.methods)), hasFactor: has }
}

/** Whether the user signed in or confirmed their identity within the last `CONFIRMED_FOR`. */
export function isRecent(
  { confirmedAt }: Pick<Session, 'confirmedAt'>,
  { limits, now }: Pick<ConfirmationParts, 'limits' | 'now'>,
): boolean {
  return confirmedAt !== null && confirmedAt + limits.CONFIRMED_FOR > now()
}

/** @param page the page to return to */
export function goToConfirm(ctx: Context, solution: string, page: Page): void {
  goTo(ctx, `${confirmPath(solution)}?for=${page}`)
}

export function showConfirm(arrival: Arrival, { session }: FoundSession, parts: SecondStepParts): Promise<void> {
  const { url } = arrival
  const shown = { page: pageOf(url.get('for')), isRecovery: url.has('recovery'), refusal: null }
  return send(arrival, session, shown, 200, parts)
}

export async function submitConfirm(
  arrival: Arrival,
  found: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<void> {
  const { ctx, solution } = arrival
  const { session } = found
  const page = pageOf(fields.get('for'))
  const checked = await checkConfirmation(arrival, session, fields, parts)
  if (checked.kind !== 'right') {
    const { status, text: refusal } = checked
    return send(arrival, session, { page, isRecovery: fields.has('recovery'), refusal }, status, parts)
  }
  await parts.sessions.confirm(solution.name, found.cookie, checked.methods)
  goTo(ctx, page === 'password' ? passwordPath(solution.name) : accountPath(solution.name, 'confirmed'))
}

type Checked =
  | { readonly kind: 'right'; readonly methods: readonly SignInMethod[] }
  | { readonly kind: 'refused'; readonly status: number; readonly text: string }

/** Checks the factor or password that the user has submitted. */
export async function checkConfirmation(
  arrival: Arrival,
  session: Session,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<Checked> {
  const { locale } = arrival
  const { way } = await wayOf(session, arrival, parts)
  if (way === 'factor') {
    const answer = await checkForm(arrival, 'confirm', accountOf(session), fields, parts)
    auditAnswer(arrival, session, 'confirm', enteredMethod(fields), answer, parts)
    if (answer.kind !== 'right') return { kind: 'refused', ...refusalOf(arrival, answer) }
    return { kind: 'right', methods: [...new Set([...session.methods, answer.method])] }
  }
  const refusal =
    way === 'sign-in'
      ? { isThrottled: false, text: platformText(locale, 'platform.confirm.signin') }
      : await refuseOwnPassword(arrival, session, fields.get('password') ?? '', parts)
  auditFactor(arrival, session, 'confirm', refusal === null ? 'ok' : 'refused', parts)
  if (refusal === null) return { kind: 'right', methods: session.methods }
  return { kind: 'refused', status: refusal.isThrottled ? 429 : 401, text: refusal.text }
}

/** How the user can confirm their identity at this URL, and which of their factors work there. */
export async function wayOf(session: Session, { serverUrl }: Arrival, parts: SecondStepParts) {
  const usable = usableFactors(await parts.factors.of(accountOf(session)), serverUrl, parts)
  const way: Way = hasFactor(usable) ? 'factor' : session.factorsOf === 'users' ? 'password' : 'sign-in'
  return { way, usable }
}

/** The factors that the page offers. */
export async function waysOf(session: Session, arrival: Arrival, usable: UsableFactors, parts: SecondStepParts) {
  const passkey = usable.passkey ? await parts.passkeyRequests.ask(arrival, 'confirm', accountOf(session)) : null
  return { passkey, hasApp: usable.app }
}

async function send(
  arrival: Arrival,
  session: Session,
  { page, ...shown }: Pick<ConfirmModel, 'isRecovery' | 'refusal'> & { readonly page: Page },
  status: number,
  parts: SecondStepParts,
): Promise<void> {
  const { name } = arrival.solution
  const { username } = session
  const cancelHref = page === 'account' ? accountPath(name) : `/solution/${name}/index.html`
  const form = formModel(arrival, confirmPath(name), parts)
  const { way, usable } = await wayOf(session, arrival, parts)
  const ways = await waysOf(session, arrival, usable, parts)
  const field = ['for', page] as const
  const model = { ...form, ...shown, way, ways, field, reason: null, username, cancelHref }
  sendPage(arrival, status, (frame) => confirmPage(frame, model))
}

function pageOf(text: string | undefined): Page {
  return PAGES.find((page) => page === text) ?? 'account'
}
