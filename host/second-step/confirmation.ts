import type { Context } from 'koa'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import { factorAccount, type FactorAccount } from '../../base/accounts/factor-account.ts'
import type { Session } from '../../base/accounts/sessions.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { readForm, readQuery } from '../../base/http/read-body.ts'
import { stateOf } from '../../base/http/request.ts'
import { platformText } from '../../base/web/texts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { type Arrival, readArrival } from '../login/arrival.ts'
import { passwordPath } from '../login/change-password.ts'
import { cameFromOwnPage } from '../login/own-page.ts'
import { goTo } from '../login/redirect-signed-in.ts'
import { type ConfirmModel, confirmPage } from '../web/pages.ts'
import { checkFactor } from './check-factor.ts'
import { auditFactor } from './complete.ts'
import { hasSecondStep } from './policy.ts'
import { refusalOf } from './second-step.ts'
import { sendPage } from './send-pages.ts'
import type { SecondStepParts } from './second-step-parts.ts'

/** The pages that a confirmation returns to. */
const PAGES = ['account', 'password'] as const
type Page = (typeof PAGES)[number]

/** How a user can confirm that it's them. `sign-in`: only by signing in again. */
type Way = ConfirmModel['way']

export function accountPath(solution: string): string {
  return `/solution/${solution}/account`
}

/** The account whose factors count for a session. */
export function accountOf({ factorsOf, realm, uid }: Pick<Session, 'factorsOf' | 'realm' | 'uid'>): FactorAccount {
  return factorAccount(factorsOf, realm, uid)
}

/**
 * Whether the user must confirm that it's them before they change their password or a factor (shared contract
 * "sign-in", rule 1.4). An account with a factor confirms with a factor.
 */
export async function needsConfirmation(
  { session }: FoundSession,
  { factors, limits, now }: Pick<SecondStepParts, 'factors' | 'limits' | 'now'>,
): Promise<boolean> {
  const isRecent = session.confirmedAt !== null && session.confirmedAt + limits.CONFIRMED_FOR > now()
  if (!isRecent) return true
  const { factors: all } = await factors.of(accountOf(session))
  return all.length > 0 && !hasSecondStep(session.methods)
}

/** @param page the page to return to */
export function goToConfirm(ctx: Context, solution: string, page: Page): void {
  goTo(ctx, `/solution/${solution}/confirm?for=${page}`)
}

export async function showConfirm(
  ctx: Context,
  solution: ActiveSolution,
  found: FoundSession,
  parts: SecondStepParts,
): Promise<void> {
  const arrival = readArrival(ctx, solution, found.session.locale, parts.sites)
  const query = readQuery(ctx)
  await send(arrival, found, pageOf(query.get('for')), query.has('recovery'), null, 200, parts)
}

export async function submitConfirm(
  ctx: Context,
  solution: ActiveSolution,
  found: FoundSession,
  parts: SecondStepParts,
): Promise<void> {
  const { session } = found
  const arrival = readArrival(ctx, solution, session.locale, parts.sites)
  const fields = await readForm(ctx, parts.limits)
  if (!cameFromOwnPage(arrival, fields, parts.formTokens)) throw foreignForm()
  const page = pageOf(fields.get('for'))
  const isRecovery = fields.has('recovery')
  const checked = await check(arrival, found, fields, parts)
  auditFactor(arrival, session, 'confirm', checked.kind === 'right' ? 'ok' : 'refused', parts)
  if (checked.kind !== 'right') return send(arrival, found, page, isRecovery, checked.text, checked.status, parts)
  await parts.sessions.confirm(solution.name, found.cookie, checked.methods)
  goTo(ctx, page === 'password' ? passwordPath(solution.name) : accountPath(solution.name))
}

type Checked =
  | { readonly kind: 'right'; readonly methods: readonly SignInMethod[] }
  | { readonly kind: 'refused'; readonly status: number; readonly text: string }

async function check(
  arrival: Arrival,
  { session }: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<Checked> {
  const { locale } = arrival
  const way = await wayOf(session, parts)
  if (way === 'code') {
    const kind = fields.has('recovery') ? 'recovery-code' : 'totp'
    const answer = await checkFactor(accountOf(session), { kind, code: fields.get('code') ?? '' }, parts)
    if (answer.kind !== 'right') return { kind: 'refused', ...refusalOf(arrival, answer) }
    return { kind: 'right', methods: [...new Set([...session.methods, answer.method])] }
  }
  if (way === 'sign-in') return { kind: 'refused', status: 401, text: platformText(locale, 'platform.confirm.signin') }
  const attempt = { source: 'users', username: session.username, address: stateOf(arrival.ctx).client.address }
  const wait = await parts.throttle.count(attempt, false)
  if (wait !== null) {
    arrival.ctx.set('Retry-After', String(wait))
    return { kind: 'refused', status: 429, text: platformText(locale, 'platform.login.throttled') }
  }
  if (!(await parts.users.checkPassword(session.uid, fields.get('password') ?? ''))) {
    return { kind: 'refused', status: 401, text: platformText(locale, 'platform.password.wrong') }
  }
  await parts.throttle.succeeded(attempt, false)
  return { kind: 'right', methods: session.methods }
}

async function wayOf(session: Session, { factors }: SecondStepParts): Promise<Way> {
  const { factors: all } = await factors.of(accountOf(session))
  if (all.length > 0) return 'code'
  return session.factorsOf === 'users' ? 'password' : 'sign-in'
}

async function send(
  arrival: Arrival,
  { session }: FoundSession,
  page: Page,
  isRecovery: boolean,
  refusal: string | null,
  status: number,
  parts: SecondStepParts,
): Promise<void> {
  const { ctx, solution, scope } = arrival
  const way = await wayOf(session, parts)
  const model = {
    solution: { title: solution.manifest.title },
    username: session.username,
    way,
    isRecovery,
    page,
    refusal,
    action: `/solution/${solution.name}/confirm`,
    cancelHref: page === 'account' ? accountPath(solution.name) : `/solution/${solution.name}/index.html`,
    formToken: parts.formTokens.issue(ctx, scope),
  }
  sendPage(arrival, status, (frame) => confirmPage(frame, model))
}

function pageOf(text: string | undefined): Page {
  return PAGES.find((page) => page === text) ?? 'account'
}

export function foreignForm(): PlatformError {
  return new PlatformError(
    'ERR_FOREIGN_ORIGIN',
    'This form has expired or came from another site. Open the page again.',
  )
}
