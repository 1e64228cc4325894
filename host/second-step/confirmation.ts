import type { Context } from 'koa'
import { type FactorAccount, factorAccount } from '../../base/accounts/factor-account.ts'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { Session } from '../../base/accounts/sessions.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import { platformText } from '../../base/web/texts.ts'
import type { Arrival } from '../login/arrival.ts'
import { passwordPath } from '../login/change-password.ts'
import { refuseOwnPassword } from '../login/own-password.ts'
import { goTo } from '../login/redirect-signed-in.ts'
import { sendPage } from '../login/send-page.ts'
import { type ConfirmModel, confirmPage } from '../web/pages.ts'
import { checkFactor } from './check-factor.ts'
import { auditFactor } from './complete.ts'
import { accountPath, confirmPath } from './paths.ts'
import { hasSecondStep } from './policy.ts'
import { refusalOf } from './second-step.ts'
import type { SecondStepParts } from './second-step-parts.ts'
import { formModel } from './send-pages.ts'

/** The pages that a confirmation returns to. */
const PAGES = ['account', 'password'] as const
type Page = (typeof PAGES)[number]

/** How a user can confirm that it's them. `sign-in`: only by signing in again. */
type Way = ConfirmModel['way']

/** The account whose factors count for a session. */
export function accountOf({ factorsOf, realm, uid }: Pick<Session, 'factorsOf' | 'realm' | 'uid'>): FactorAccount {
  return factorAccount(factorsOf, realm, uid)
}

/**
 * Whether the user must confirm that it's them before they change their password or a factor (shared contract
 * "sign-in", rule 1.4). An account with a factor confirms with a factor.
 */
export async function confirmationOf(
  { session }: FoundSession,
  { factors, limits, now }: Pick<SecondStepParts, 'factors' | 'limits' | 'now'>,
): Promise<{ readonly isNeeded: boolean; readonly hasFactor: boolean }> {
  const isRecent = session.confirmedAt !== null && session.confirmedAt + limits.CONFIRMED_FOR > now()
  const hasFactor = (await factors.of(accountOf(session))).factors.length > 0
  return { isNeeded: !isRecent || (hasFactor && !hasSecondStep(session.methods)), hasFactor }
}

/** @param page the page to return to */
export function goToConfirm(ctx: Context, solution: string, page: Page): void {
  goTo(ctx, `${confirmPath(solution)}?for=${page}`)
}

export async function showConfirm(arrival: Arrival, { session }: FoundSession, parts: SecondStepParts): Promise<void> {
  const { url } = arrival
  const way = await wayOf(session, parts)
  send(
    arrival,
    session,
    { way, page: pageOf(url.get('for')), isRecovery: url.has('recovery'), refusal: null },
    200,
    parts,
  )
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
  const way = await wayOf(session, parts)
  const checked = await check(arrival, session, way, fields, parts)
  auditFactor(arrival, session, 'confirm', checked.kind === 'right' ? 'ok' : 'refused', parts)
  if (checked.kind !== 'right') {
    const { status, text: refusal } = checked
    return send(arrival, session, { way, page, isRecovery: fields.has('recovery'), refusal }, status, parts)
  }
  await parts.sessions.confirm(solution.name, found.cookie, checked.methods)
  goTo(ctx, page === 'password' ? passwordPath(solution.name) : accountPath(solution.name))
}

type Checked =
  | { readonly kind: 'right'; readonly methods: readonly SignInMethod[] }
  | { readonly kind: 'refused'; readonly status: number; readonly text: string }

async function check(
  arrival: Arrival,
  session: Session,
  way: Way,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<Checked> {
  const { ctx, locale } = arrival
  if (way === 'code') {
    const kind = fields.has('recovery') ? 'recovery-code' : 'totp'
    const answer = await checkFactor(accountOf(session), { kind, code: fields.get('code') ?? '' }, parts)
    if (answer.kind !== 'right') return { kind: 'refused', ...refusalOf(arrival, answer) }
    return { kind: 'right', methods: [...new Set([...session.methods, answer.method])] }
  }
  if (way === 'sign-in') return { kind: 'refused', status: 401, text: platformText(locale, 'platform.confirm.signin') }
  const refusal = await refuseOwnPassword(ctx, locale, session, fields.get('password') ?? '', parts)
  if (refusal === null) return { kind: 'right', methods: session.methods }
  return { kind: 'refused', status: refusal.isThrottled ? 429 : 401, text: refusal.text }
}

async function wayOf(session: Session, { factors }: SecondStepParts): Promise<Way> {
  const { factors: all } = await factors.of(accountOf(session))
  if (all.length > 0) return 'code'
  return session.factorsOf === 'users' ? 'password' : 'sign-in'
}

function send(
  arrival: Arrival,
  { username }: Session,
  shown: Pick<ConfirmModel, 'way' | 'isRecovery' | 'refusal'> & { readonly page: Page },
  status: number,
  parts: SecondStepParts,
): void {
  const { name } = arrival.solution
  const cancelHref = shown.page === 'account' ? accountPath(name) : `/solution/${name}/index.html`
  const model = { ...formModel(arrival, confirmPath(name), parts), ...shown, username, cancelHref }
  sendPage(arrival, status, (frame) => confirmPage(frame, model))
}

function pageOf(text: string | undefined): Page {
  return PAGES.find((page) => page === text) ?? 'account'
}
