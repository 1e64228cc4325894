import type Router from '@koa/router'
import type { Context } from 'koa'
import { addApp } from '../../base/accounts/add-app.ts'
import { refusalOf } from '../../base/accounts/check-factor.ts'
import { newAppOf, readSetUpSecret } from '../../base/accounts/new-app.ts'
import { Refusal, type WayOfSigningIn, walkSignIn } from '../../base/accounts/sign-in-steps.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { goTo } from '../../base/http/go-to.ts'
import { readForm } from '../../base/http/read-body.ts'
import { stateOf } from '../../base/http/request.ts'
import { passkeyScript } from '../../base/web/pages.ts'
import { setPageCookie, setStepCookie } from '../access/page-cookie.ts'
import { localeOf, sendPage, textFor } from '../pages/page.ts'
import { requireOwnForm } from '../pages/sign-in.ts'
import { ADMIN_FACTORS, type FoundAdminSignIn, noteAdmin } from './admin-factors.ts'
import type { AdminFactorPageParts } from './page-parts.ts'
import { addAdminPasskey, adminWaysOf, checkAdminForm, passkeyPageOf, titleOf } from './passkey-page.ts'

type Attempt = {
  readonly ctx: Context
  readonly fields: ReadonlyMap<string, string>
  readonly found: FoundAdminSignIn
}
type SignedIn = { readonly username: string; readonly to: string }
type StepWay = WayOfSigningIn<Context, Attempt, Attempt, SignedIn, AdminFactorPageParts>

/** The steps that `BY_ADMIN_SECOND_STEP` and `BY_ADMIN_SET_UP` share. */
const STEP_WAY: Pick<StepWay, 'ownPage' | 'accept' | 'redirect'> = {
  async ownPage(ctx, { adminFactors, limits }) {
    requireOwnForm(ctx)
    const found = await adminFactors.find(ctx)
    if (found === null) return new Refusal(null, () => goTo(ctx, '/admin/sign-in'))
    return { ctx, found, fields: await readForm(ctx, limits) }
  },
  async accept({ ctx, found }, _accepted, { adminOpenSignIns, pageSessions, settings }) {
    // If several requests arrive in parallel, exactly one succeeds.
    if (!(await adminOpenSignIns.finish(found))) return new Refusal(null, () => goTo(ctx, '/admin/sign-in'))
    setStepCookie(ctx, null)
    setPageCookie(ctx, await pageSessions.start(stateOf(ctx).client.address))
    return { username: settings.adminName, to: found.open.to }
  },
  redirect: (ctx, { to }) => goTo(ctx, to),
}

/** Completes a sign-in to the admin pages with a passkey, a code from an authenticator app, or a recovery code. */
export const BY_ADMIN_SECOND_STEP: StepWay = {
  ...STEP_WAY,
  throttle: {
    none: '`checkFactor` counts the attempts. They share a counter with attempts to confirm an action.',
  },
  async source(attempt, parts) {
    const { ctx, fields, found } = attempt
    const answer = await checkAdminForm(ctx, 'second-step', fields, parts)
    if (answer.kind === 'right') return attempt
    const isWrong = answer.kind !== 'throttled' && answer.kind !== 'locked'
    const isOver = isWrong && (await parts.adminOpenSignIns.noteWrong(found)) === 0
    if (isOver) return new Refusal(null, () => goTo(ctx, '/admin/sign-in'))
    const { status, text } = refusalOf({ ctx, locale: localeOf(ctx) }, answer)
    return new Refusal(null, () => showStep(ctx, { isRecovery: fields.has('recovery'), refusal: text }, status, parts))
  },
  secondStep: { none: 'This is the second step.' },
  audit: { none: 'Each attempt is recorded as `second-step` when it is checked.' },
}

/** Completes a sign-in to the admin pages in which the operator had to set up a factor. */
export const BY_ADMIN_SET_UP: StepWay = {
  ...STEP_WAY,
  throttle: {
    none: 'There is nothing to guess: the operator has completed the first step, and the page shows the secret that generates the codes.',
  },
  async source(attempt, parts) {
    const { ctx, fields, found } = attempt
    if (fields.get('act') === 'saved') {
      return found.open.isDone ? attempt : new Refusal(null, () => goTo(ctx, '/admin/set-up'))
    }
    // A factor was set up in another browser in the meantime. The operator must use that factor.
    if (await parts.adminFactors.hasFactor()) return new Refusal(null, () => goTo(ctx, '/admin/second-step'))
    const answer = fields.get('passkey') ?? ''
    const secret = answer === '' ? readSetUpSecret(ADMIN_FACTORS, fields.get('setup') ?? '', parts) : null
    if (answer === '' && secret === null) return new Refusal(null, () => goTo(ctx, '/admin/set-up'))
    const added =
      secret === null
        ? await addAdminPasskey(ctx, answer, parts)
        : await addApp(ADMIN_FACTORS, { secret, code: fields.get('code') ?? '', locale: localeOf(ctx) }, parts)
    if (added.kind === 'taken') return new Refusal(null, () => goTo(ctx, '/admin/second-step'))
    if (added.kind === 'refused') {
      return new Refusal(null, () => showSetUp(ctx, secret ?? parts.apps.newSecret(), added.refusal, 401, parts))
    }
    noteAdmin(ctx, 'factor-add', 'ok', parts)
    await parts.pageSessions.endOthers(null)
    await parts.adminOpenSignIns.endOfAccount(ADMIN_FACTORS, found)
    await parts.adminOpenSignIns.change(found, { ...found.open, isDone: true })
    const codes = await parts.recoveryCodes.create(ADMIN_FACTORS)
    return new Refusal(null, () => showCodes(ctx, '/admin/set-up', '', codes))
  },
  secondStep: { none: 'The account has no factor yet.' },
  audit: { none: 'The new factor is recorded as `factor-add`.' },
}

/** Adds the pages that operators see after they have entered the correct password. */
export function addSecondStepPages(router: Router, parts: AdminFactorPageParts): void {
  const { adminFactors } = parts

  router.get('/second-step', async (ctx) => {
    requireNavigation(ctx)
    if ((await adminFactors.find(ctx)) === null) return goTo(ctx, '/admin/sign-in')
    await showStep(ctx, { isRecovery: Object.hasOwn(ctx.query, 'recovery'), refusal: null }, 200, parts)
  })

  router.get('/set-up', async (ctx) => {
    requireNavigation(ctx)
    if ((await adminFactors.find(ctx)) === null) return goTo(ctx, '/admin/sign-in')
    if (await adminFactors.hasFactor()) return goTo(ctx, '/admin/second-step')
    await showSetUp(ctx, parts.apps.newSecret(), null, 200, parts)
  })

  router.post('/second-step', (ctx) => walkSignIn(BY_ADMIN_SECOND_STEP, ctx, parts))
  router.post('/set-up', (ctx) => walkSignIn(BY_ADMIN_SET_UP, ctx, parts))
}

/** The template data that every page with a form needs. */
export function modelOf(ctx: Context, action: string, formToken: string) {
  return { solution: { title: titleOf(ctx) }, action, formToken }
}

async function showStep(
  ctx: Context,
  shown: { readonly isRecovery: boolean; readonly refusal: string | null },
  status: number,
  parts: AdminFactorPageParts,
): Promise<void> {
  const ways = await adminWaysOf(ctx, 'second-step', parts)
  const form = modelOf(ctx, '/admin/second-step', '')
  const username = parts.settings.adminName
  const model = { ...form, ...shown, ways, username, cancelHref: '/admin/sign-in', passkeyScript }
  sendPage(ctx, { template: 'second-step', heading: textFor(ctx)('platform.step.title'), part: null, model, status })
}

async function showSetUp(
  ctx: Context,
  secret: string,
  refusal: string | null,
  status: number,
  parts: AdminFactorPageParts,
): Promise<void> {
  const { adminPasskeys, settings } = parts
  const page = passkeyPageOf(ctx)
  const passkey = await adminPasskeys.offer(page, 'set-up', ADMIN_FACTORS, settings.adminName)
  const isBlocked = adminPasskeys.places.isBlockedByAddress(page.serverUrl)
  const shown = { takesApp: true, passkey, isBlocked, canPostpone: false, refusal, passkeyScript }
  const model = { ...modelOf(ctx, '/admin/set-up', ''), ...shown, app: appOf(ctx, secret, parts) }
  const heading = textFor(ctx)('platform.setup.title')
  sendPage(ctx, { template: 'factor-set-up', heading, part: null, model, status })
}

function appOf(ctx: Context, secret: string, parts: AdminFactorPageParts) {
  const login = { username: parts.settings.adminName }
  return newAppOf({ title: titleOf(ctx) }, { account: ADMIN_FACTORS, login }, secret, parts)
}

export function showCodes(ctx: Context, action: string, formToken: string, codes: readonly string[]): void {
  const model = { ...modelOf(ctx, action, formToken), codes }
  sendPage(ctx, { template: 'recovery-codes', heading: textFor(ctx)('platform.recovery.title'), part: null, model })
}
