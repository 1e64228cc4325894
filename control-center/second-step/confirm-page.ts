import type Router from '@koa/router'
import { checkForm, refusalOf } from '../../base/accounts/check-factor.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import { waysOf } from '../../base/accounts/usable-factors.ts'
import { goTo } from '../../base/http/go-to.ts'
import { passkeyScript } from '../../base/web/pages.ts'
import { personsFactors } from '../access/confirmations.ts'
import { pageToGoTo } from '../accounts/own-form.ts'
import { passkeyPageOf } from '../accounts/passkey-page.ts'
import { localeOf, sendPage, textFor } from '../pages/page.ts'
import { formModel, noteAnswer } from './complete.ts'
import { type Asked, addOwnPage, type Fields } from './own-pages.ts'
import type { SecondStepParts } from './parts.ts'

export const CONFIRM_PATH = '/confirm'

/** The page where people confirm their identity before a change. Afterwards, they return to the page where they started the change. */
export function addConfirmPage(router: Router, parts: SecondStepParts): void {
  addOwnPage(router, CONFIRM_PATH, show, submit, parts)
}

async function show(asked: Asked, parts: SecondStepParts): Promise<void> {
  const { query } = asked.ctx
  const to = pageToGoTo(String(query.to ?? ''))
  await send(asked, { to, isRecovery: Object.hasOwn(query, 'recovery'), refusal: null }, 200, parts)
}

async function submit(asked: Asked, fields: Fields, parts: SecondStepParts): Promise<void> {
  const { ctx, session } = asked
  const to = pageToGoTo(fields.get('to') ?? '')
  const checked = await check(asked, fields, parts)
  if (checked.kind === 'right') {
    await parts.pageSessions.confirm(session, checked.method)
    return goTo(ctx, to)
  }
  await send(asked, { to, isRecovery: fields.has('recovery'), refusal: checked.text }, checked.status, parts)
}

type Checked =
  | { readonly kind: 'right'; readonly method: SignInMethod | null }
  | { readonly kind: 'refused'; readonly status: number; readonly text: string }

/** People who have a factor confirm with it. All others confirm with their password. */
async function check({ ctx, user }: Asked, fields: Fields, parts: SecondStepParts): Promise<Checked> {
  const { confirmations, credentials } = parts
  if (await confirmations.hasFactor(user.uid)) {
    const answer = await checkForm(passkeyPageOf(ctx), 'confirm', personsFactors(user.uid), fields, parts)
    await noteAnswer(ctx, user.username, 'confirm', fields, answer, parts)
    if (answer.kind === 'right') return { kind: 'right', method: answer.method }
    return { kind: 'refused', ...refusalOf({ ctx, locale: localeOf(ctx) }, answer) }
  }
  const checked = await credentials.checkOwn(ctx, user, fields.get('password') ?? '')
  const outcome = { right: 'ok', wrong: 'refused', throttled: 'throttled' }[checked.kind]
  await credentials.note(ctx, user.username, 'confirm', outcome, 'password')
  const text = textFor(ctx)
  if (checked.kind === 'right') return { kind: 'right', method: null }
  if (checked.kind === 'wrong') return { kind: 'refused', status: 401, text: text('platform.password.wrong') }
  return { kind: 'refused', status: 429, text: text('admin.signin.throttled', Math.ceil(checked.wait / 60)) }
}

async function send(
  { ctx, user, session }: Asked,
  { to, ...shown }: { readonly to: string; readonly isRecovery: boolean; readonly refusal: string | null },
  status: number,
  parts: SecondStepParts,
): Promise<void> {
  const way = (await parts.confirmations.hasFactor(user.uid)) ? 'factor' : 'password'
  const ways = await waysOf(passkeyPageOf(ctx), 'confirm', personsFactors(user.uid), parts)
  const form = formModel(CONFIRM_PATH, session.csrfToken)
  const field = ['to', to] as const
  const texts = { why: 'center.confirm.why', reason: null, cancelHref: to, username: user.username, passkeyScript }
  const model = { ...form, ...shown, ...texts, way, ways, field }
  sendPage(ctx, { template: 'confirm', heading: textFor(ctx)('platform.step.title'), model, status }, null)
}
