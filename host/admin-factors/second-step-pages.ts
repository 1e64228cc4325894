import type Router from '@koa/router'
import type { Context } from 'koa'
import { checkFactor, type FactorAnswer, refusalOf } from '../../base/accounts/check-factor.ts'
import { newAppOf, readSetUpSecret } from '../../base/accounts/new-app.ts'
import { Refusal, type WayOfSigningIn, walkSignIn } from '../../base/accounts/sign-in-steps.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { readForm } from '../../base/http/read-body.ts'
import { stateOf } from '../../base/http/request.ts'
import { setPageCookie, setStepCookie } from '../access/page-cookie.ts'
import { localeOf, sendPage, textFor } from '../pages/page.ts'
import { goTo, requireOwnForm } from '../pages/sign-in.ts'
import { ADMIN_FACTORS, type FoundAdminSignIn, noteAdmin } from './admin-factors.ts'
import type { AdminFactorPageParts } from './page-parts.ts'

type Attempt = {
  readonly ctx: Context
  readonly fields: ReadonlyMap<string, string>
  readonly found: FoundAdminSignIn
}
type SignedIn = { readonly username: string; readonly to: string }
type StepWay = WayOfSigningIn<Context, Attempt, Attempt, SignedIn, AdminFactorPageParts>

/** The steps that both ways have in common. */
const STEP_WAY: Pick<StepWay, 'ownPage' | 'accept' | 'redirect'> = {
  async ownPage(ctx, { adminFactors, limits }) {
    requireOwnForm(ctx)
    const found = await adminFactors.find(ctx)
    if (found === null) return new Refusal(null, () => goTo(ctx, '/admin/sign-in'))
    return { ctx, found, fields: await readForm(ctx, limits) }
  },
  async accept({ ctx, found }, _accepted, { adminOpenSignIns, pageSessions, settings }) {
    // Of several parallel requests, exactly one succeeds.
    if (!(await adminOpenSignIns.finish(found))) return new Refusal(null, () => goTo(ctx, '/admin/sign-in'))
    setStepCookie(ctx, null)
    setPageCookie(ctx, await pageSessions.start(stateOf(ctx).client.address))
    return { username: settings.adminName, to: found.open.to }
  },
  redirect: (ctx, { to }) => goTo(ctx, to),
}

/** Completes a sign-in to the admin pages with a code of an authenticator app, or with a recovery code. */
export const BY_ADMIN_SECOND_STEP: StepWay = {
  ...STEP_WAY,
  throttle: { none: '`checkFactor` counts each try, together with those of confirmations.' },
  async source(attempt, parts) {
    const { ctx, fields, found } = attempt
    const kind = fields.has('recovery') ? 'recovery-code' : 'totp'
    const answer = await checkFactor(ADMIN_FACTORS, { kind, code: fields.get('code') ?? '' }, parts)
    noteAdmin(ctx, 'second-step', outcomeOf(answer.kind), parts)
    if (answer.kind === 'right') return attempt
    const isOver = answer.kind === 'wrong' && (await parts.adminOpenSignIns.noteWrong(found)) === 0
    if (isOver) return new Refusal(null, () => goTo(ctx, '/admin/sign-in'))
    const { status, text } = refusalOf({ ctx, locale: localeOf(ctx) }, answer)
    return new Refusal(null, () =>
      showStep(ctx, { isRecovery: kind === 'recovery-code', refusal: text }, status, parts),
    )
  },
  secondStep: { none: 'This is the second step.' },
  audit: { none: 'Each try is recorded as `second-step` when it is checked.' },
}

/** Completes a sign-in to the admin pages for which the operator set up an authenticator app. */
export const BY_ADMIN_SET_UP: StepWay = {
  ...STEP_WAY,
  throttle: { none: 'The operator has passed the first step, and knows the secret that the code belongs to.' },
  async source(attempt, parts) {
    const { ctx, fields, found } = attempt
    if (fields.get('act') === 'saved') {
      return found.open.isDone ? attempt : new Refusal(null, () => goTo(ctx, '/admin/set-up'))
    }
    const secret = readSetUpSecret(ADMIN_FACTORS, fields.get('setup') ?? '', parts)
    if (secret === null) return new Refusal(null, () => goTo(ctx, '/admin/set-up'))
    const text = textFor(ctx)
    const added = await parts.apps.add(ADMIN_FACTORS, secret, fields.get('code') ?? '', text('platform.factor.app'))
    if (added === 'wrong') {
      return new Refusal(null, () => showSetUp(ctx, secret, text('platform.step.wrong'), 401, parts))
    }
    // Another browser has set one up since. The operator proves that it's them with that one.
    if (added === 'taken') return new Refusal(null, () => goTo(ctx, '/admin/second-step'))
    noteAdmin(ctx, 'factor-add', 'ok', parts)
    await parts.pageSessions.endOthers(null)
    await parts.adminOpenSignIns.change(found, { ...found.open, isDone: true })
    const codes = await parts.recoveryCodes.renew(ADMIN_FACTORS)
    return new Refusal(null, () => showCodes(ctx, '/admin/set-up', '', codes))
  },
  secondStep: { none: 'The account has no factor yet.' },
  audit: { none: 'The new factor is recorded as `factor-add`.' },
}

/** The pages of sign-ins whose password was right. */
export function addSecondStepPages(router: Router, parts: AdminFactorPageParts): void {
  const { adminFactors } = parts

  router.get('/second-step', async (ctx) => {
    requireNavigation(ctx)
    if ((await adminFactors.find(ctx)) === null) return goTo(ctx, '/admin/sign-in')
    showStep(ctx, { isRecovery: Object.hasOwn(ctx.query, 'recovery'), refusal: null }, 200, parts)
  })

  router.get('/set-up', async (ctx) => {
    requireNavigation(ctx)
    if ((await adminFactors.find(ctx)) === null) return goTo(ctx, '/admin/sign-in')
    if (await adminFactors.hasFactor()) return goTo(ctx, '/admin/second-step')
    showSetUp(ctx, parts.apps.newSecret(), null, 200, parts)
  })

  router.post('/second-step', (ctx) => walkSignIn(BY_ADMIN_SECOND_STEP, ctx, parts))
  router.post('/set-up', (ctx) => walkSignIn(BY_ADMIN_SET_UP, ctx, parts))
}

function outcomeOf(kind: FactorAnswer['kind']): string {
  return kind === 'right' ? 'ok' : kind === 'throttled' ? 'throttled' : 'refused'
}

/** What the pages of the admin account's factors have in common. */
export function modelOf(ctx: Context, action: string, formToken: string) {
  return { solution: { title: titleOf(ctx) }, action, formToken }
}

export function titleOf(ctx: Context): string {
  return `Solhost ${textFor(ctx)('admin.area')}`
}

function showStep(
  ctx: Context,
  shown: { readonly isRecovery: boolean; readonly refusal: string | null },
  status: number,
  { settings }: AdminFactorPageParts,
): void {
  const form = modelOf(ctx, '/admin/second-step', '')
  const ways = { passkey: null, hasApp: true }
  const model = { ...form, ...shown, ways, username: settings.adminName, cancelHref: '/admin/sign-in' }
  sendPage(ctx, { template: 'second-step', heading: textFor(ctx)('platform.step.title'), part: null, model, status })
}

function showSetUp(
  ctx: Context,
  secret: string,
  refusal: string | null,
  status: number,
  parts: AdminFactorPageParts,
): void {
  const shown = { action: '/admin/set-up', formToken: '', cancelHref: null, heading: 'platform.setup.title' }
  showNewApp(ctx, secret, { ...shown, refusal, status }, parts)
}

/** The page with the QR code of a new app. */
export function showNewApp(
  ctx: Context,
  secret: string,
  shown: {
    readonly action: string
    readonly formToken: string
    readonly cancelHref: string | null
    readonly heading: string
    readonly refusal: string | null
    readonly status: number
  },
  parts: AdminFactorPageParts,
): void {
  const { action, formToken, cancelHref, heading, refusal, status } = shown
  const login = { username: parts.settings.adminName }
  const app = newAppOf({ title: titleOf(ctx) }, { account: ADMIN_FACTORS, login }, secret, parts)
  const model = { ...modelOf(ctx, action, formToken), app, canPostpone: false, cancelHref, refusal }
  sendPage(ctx, { template: 'new-app', heading: textFor(ctx)(heading), part: null, model, status })
}

export function showCodes(ctx: Context, action: string, formToken: string, codes: readonly string[]): void {
  const model = { ...modelOf(ctx, action, formToken), codes }
  sendPage(ctx, { template: 'recovery-codes', heading: textFor(ctx)('platform.recovery.title'), part: null, model })
}
