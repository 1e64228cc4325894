import type Router from '@koa/router'
import type { Context } from 'koa'
import { refusalOf } from '../../base/accounts/check-factor.ts'
import { FACTOR_ACTS, type FactorPage } from '../../base/accounts/factor-acts.ts'
import { shownFactors } from '../../base/accounts/usable-factors.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { goTo } from '../../base/http/go-to.ts'
import { readForm } from '../../base/http/read-body.ts'
import { passkeyScript } from '../../base/web/pages.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { accountSessionOf, adminOrigin, pageCookieOf } from '../access/admit-page-session.ts'
import type { PageSession } from '../access/page-sessions.ts'
import { localeOf, sendPage, textFor } from '../pages/page.ts'
import { pageToGoTo, requireOwnForm } from '../pages/sign-in.ts'
import { ADMIN_FACTORS, noteAdmin } from './admin-factors.ts'
import type { AdminFactorPageParts } from './page-parts.ts'
import { adminUser, adminWaysOf, checkAdminForm, passkeyPageOf } from './passkey-page.ts'
import { addSecondStepPages, modelOf, showCodes } from './second-step-pages.ts'

/** A request from an operator who is signed in to the admin pages. */
type Asked = { readonly ctx: Context; readonly session: PageSession; readonly cookie: string }
type Fields = ReadonlyMap<string, string>

/** The admin account's second step, its account page, and the page that confirms a change. */
export function addAdminFactorPages(router: Router, parts: AdminFactorPageParts): void {
  addSecondStepPages(router, parts)
  own(router, '/account', showAccount, submitAccount, parts)
  own(router, '/confirm', showConfirm, submitConfirm, parts)
}

/** Adds a page for operators who are signed in. The page is a plain form that works without JavaScript. */
function own(
  router: Router,
  path: string,
  show: (asked: Asked, parts: AdminFactorPageParts) => Promise<void>,
  submit: (asked: Asked, fields: Fields, parts: AdminFactorPageParts) => Promise<void>,
  parts: AdminFactorPageParts,
): void {
  const askedBy = (ctx: Context): Asked | null => {
    const [session, cookie] = [accountSessionOf(ctx), pageCookieOf(ctx)]
    return session === null || cookie === null ? null : { ctx, session, cookie }
  }
  router.get(path, async (ctx) => {
    requireNavigation(ctx)
    const asked = askedBy(ctx)
    if (asked === null) return goTo(ctx, `/admin/sign-in?to=${encodeURIComponent(`${ctx.path}${ctx.search}`)}`)
    await show(asked, parts)
  })
  router.post(path, async (ctx) => {
    requireOwnForm(ctx)
    const asked = askedBy(ctx)
    if (asked === null) return goTo(ctx, '/admin/sign-in')
    const fields = await readForm(ctx, parts.limits)
    if (!parts.pageSessions.isCsrfToken(asked.cookie, fields.get('csrf_token') ?? '')) {
      throw new PlatformError('ERR_FOREIGN_ORIGIN', 'This form has expired. Open the page again.')
    }
    await submit(asked, fields, parts)
  })
}

const ACCOUNT = '/admin/account'

async function showAccount(asked: Asked, parts: AdminFactorPageParts): Promise<void> {
  await sendAccount(asked, null, 200, parts)
}

async function submitAccount(asked: Asked, fields: Fields, parts: AdminFactorPageParts): Promise<void> {
  const act = FACTOR_ACTS.get(fields.get('act') ?? '')
  if (act === undefined) return goTo(asked.ctx, ACCOUNT)
  if (!asked.session.isConfirmed) return goTo(asked.ctx, `/admin/confirm?to=${ACCOUNT}`)
  await act(factorPageOf(asked, parts), fields, { ...parts, passkeyRequests: parts.adminPasskeys })
}

function factorPageOf(asked: Asked, parts: AdminFactorPageParts): FactorPage {
  const { ctx, session, cookie } = asked
  const page = passkeyPageOf(ctx)
  const text = textFor(ctx)
  const form = modelOf(ctx, ACCOUNT, session.csrfToken)
  const shown = { ...form, cancelHref: ACCOUNT, passkeyScript }
  const send = (template: 'new-app' | 'new-passkey', heading: string, model: object, status: number) =>
    sendPage(ctx, { template, heading: text(heading), part: null, model: { ...shown, ...model }, status })
  return {
    page,
    account: ADMIN_FACTORS,
    user: adminUser(page.locale, parts),
    path: ACCOUNT,
    note: (action, outcome) => noteAdmin(ctx, action, outcome, parts),
    confirm: () => parts.pageSessions.confirm(cookie),
    async endOthers() {
      await parts.pageSessions.endOthers(cookie)
      await parts.adminOpenSignIns.endOfAccount(ADMIN_FACTORS, null)
    },
    mustKeep: async (_id, factors) => factors.length === 1 && parts.adminFactors.mode === 'required',
    show: {
      account: (refusal, status) => sendAccount(asked, refusal, status, parts),
      newApp: (app, refusal, status) => send('new-app', 'platform.setup.own', { app, refusal }, status),
      newPasskey: (passkey, refusal, status) =>
        send('new-passkey', 'platform.passkey.add', { passkey, refusal }, status),
      codes: (codes) => showCodes(ctx, ACCOUNT, session.csrfToken, codes),
    },
  }
}

async function sendAccount(
  { ctx, session }: Asked,
  refusal: string | null,
  status: number,
  { factors, settings, adminFactors, adminPasskeys }: AdminFactorPageParts,
): Promise<void> {
  const model = {
    ...modelOf(ctx, ACCOUNT, session.csrfToken),
    ...shownFactors(await factors.of(ADMIN_FACTORS), adminOrigin(ctx), adminPasskeys.places),
    username: settings.adminName,
    isOff: adminFactors.mode === 'off',
    refusal,
  }
  sendPage(ctx, { template: 'account', heading: textFor(ctx)('platform.account.title'), part: null, model, status })
}

async function showConfirm({ ctx, session }: Asked, parts: AdminFactorPageParts): Promise<void> {
  const to = pageToGoTo(String(ctx.query.to ?? ''))
  await sendConfirm(
    { ctx, session },
    { to, isRecovery: Object.hasOwn(ctx.query, 'recovery'), refusal: null },
    200,
    parts,
  )
}

async function submitConfirm({ ctx, session, cookie }: Asked, fields: Fields, parts: AdminFactorPageParts) {
  const to = pageToGoTo(fields.get('to') ?? '')
  const refused = await refusalOfConfirmation(ctx, fields, parts)
  if (refused === null) {
    await parts.pageSessions.confirm(cookie)
    return goTo(ctx, to)
  }
  const shown = { to, isRecovery: fields.has('recovery'), refusal: refused.text }
  await sendConfirm({ ctx, session }, shown, refused.status, parts)
}

type Refused = { readonly status: number; readonly text: string }

/** The operator confirms with a factor if the account has one, otherwise with the password. */
async function refusalOfConfirmation(
  ctx: Context,
  fields: Fields,
  parts: AdminFactorPageParts,
): Promise<Refused | null> {
  if (await parts.adminFactors.isNeeded()) {
    const answer = await checkAdminForm(ctx, 'confirm', fields, parts)
    return answer.kind === 'right' ? null : refusalOf({ ctx, locale: localeOf(ctx) }, answer)
  }
  const text = textFor(ctx)
  try {
    const isRight = await parts.credentials.areRight(ctx, parts.settings.adminName, fields.get('password') ?? '')
    noteAdmin(ctx, 'confirm', isRight ? 'ok' : 'refused', parts, 'password')
    return isRight ? null : { status: 401, text: text('platform.password.wrong') }
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'ERR_THROTTLED') throw error
    noteAdmin(ctx, 'confirm', 'throttled', parts, 'password')
    const { retryAfter } = error.details as { retryAfter: number }
    ctx.set('Retry-After', String(retryAfter))
    return { status: 429, text: text('admin.signin.throttled', Math.ceil(retryAfter / 60)) }
  }
}

async function sendConfirm(
  { ctx, session }: Pick<Asked, 'ctx' | 'session'>,
  { to, ...shown }: { readonly to: string; readonly isRecovery: boolean; readonly refusal: string | null },
  status: number,
  parts: AdminFactorPageParts,
): Promise<void> {
  const { adminFactors, settings } = parts
  const way = (await adminFactors.isNeeded()) ? 'factor' : 'password'
  const form = modelOf(ctx, '/admin/confirm', session.csrfToken)
  const field = ['to', to] as const
  const texts = { why: 'admin.confirm.why', reason: null, cancelHref: to, username: settings.adminName, passkeyScript }
  const ways = await adminWaysOf(ctx, 'confirm', parts)
  const model = { ...form, ...shown, ...texts, way, ways, field }
  sendPage(ctx, { template: 'confirm', heading: textFor(ctx)('platform.step.title'), part: null, model, status })
}
