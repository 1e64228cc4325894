import type Router from '@koa/router'
import type { Context } from 'koa'
import { refusalOf } from '../../base/accounts/check-factor.ts'
import { readSetUpSecret } from '../../base/accounts/new-app.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { readForm } from '../../base/http/read-body.ts'
import { passkeyScript } from '../../base/web/pages.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { adminOrigin, pageCookieOf, pageSessionOf } from '../access/admit-page-session.ts'
import type { PageSession } from '../access/page-sessions.ts'
import { localeOf, sendPage, textFor } from '../pages/page.ts'
import { goTo, pageToGoTo, requireOwnForm } from '../pages/sign-in.ts'
import { ADMIN_FACTORS, noteAdmin } from './admin-factors.ts'
import type { AdminFactorPageParts } from './page-parts.ts'
import { addAdminPasskey, checkAdminForm, passkeyPageOf, waysOf } from './passkey-page.ts'
import { addSecondStepPages, modelOf, showCodes, showNewApp } from './second-step-pages.ts'

/** A request of an operator who is signed in to the admin pages. */
type Asked = { readonly ctx: Context; readonly session: PageSession; readonly cookie: string }
type Fields = ReadonlyMap<string, string>

/** The admin account's second step, its account page, and the page that confirms a change. */
export function addAdminFactorPages(router: Router, parts: AdminFactorPageParts): void {
  addSecondStepPages(router, parts)
  own(router, '/account', showAccount, submitAccount, parts)
  own(router, '/confirm', showConfirm, submitConfirm, parts)
}

/** Like the other admin pages, these need a sign-in. They are plain forms that work without JavaScript. */
function own(
  router: Router,
  path: string,
  show: (asked: Asked, parts: AdminFactorPageParts) => Promise<void>,
  submit: (asked: Asked, fields: Fields, parts: AdminFactorPageParts) => Promise<void>,
  parts: AdminFactorPageParts,
): void {
  const askedBy = (ctx: Context): Asked | null => {
    const [session, cookie] = [pageSessionOf(ctx), pageCookieOf(ctx)]
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
  const act = ACTS.get(fields.get('act') ?? '')
  if (act === undefined) return goTo(asked.ctx, ACCOUNT)
  if (!asked.session.isConfirmed) return goTo(asked.ctx, `/admin/confirm?to=${ACCOUNT}`)
  await act(asked, fields, parts)
}

/** The actions of the page's forms, by the value of their field `act`. Each requires confirmation. */
const ACTS = new Map<string, (asked: Asked, fields: Fields, parts: AdminFactorPageParts) => Promise<void>>([
  ['new-app', async (asked, _fields, parts) => sendNewApp(asked, parts.apps.newSecret(), null, 200, parts)],
  ['add-app', addApp],
  ['new-passkey', (asked, _fields, parts) => sendNewPasskey(asked, null, 200, parts)],
  ['add-passkey', addNewPasskey],
  ['remove', removeFactor],
  ['new-codes', renewCodes],
])

async function addApp(asked: Asked, fields: Fields, parts: AdminFactorPageParts): Promise<void> {
  const { ctx, cookie } = asked
  const text = textFor(ctx)
  const secret = readSetUpSecret(ADMIN_FACTORS, fields.get('setup') ?? '', parts)
  if (secret === null) return goTo(ctx, ACCOUNT)
  const name = text('platform.factor.app')
  const added = await parts.apps.add(ADMIN_FACTORS, secret, fields.get('code') ?? '', name, true)
  if (added === 'wrong') return sendNewApp(asked, secret, text('platform.step.wrong'), 401, parts)
  noteAdmin(ctx, 'factor-add', 'ok', parts)
  await parts.pageSessions.endOthers(cookie)
  await sendCodes(asked, parts)
}

async function addNewPasskey(asked: Asked, fields: Fields, parts: AdminFactorPageParts): Promise<void> {
  const { ctx, cookie } = asked
  const added = await addAdminPasskey(ctx, 'account', fields.get('passkey') ?? '', parts)
  if (added.kind === 'refused') return sendNewPasskey(asked, added.refusal, 401, parts)
  noteAdmin(ctx, 'factor-add', 'ok', parts)
  await parts.pageSessions.endOthers(cookie)
  // Adding another factor doesn't replace the recovery codes that the operator saved with the first one.
  const { recoveryCodesLeft } = await parts.factors.of(ADMIN_FACTORS)
  if (recoveryCodesLeft === 0) return sendCodes(asked, parts)
  goTo(ctx, ACCOUNT)
}

async function removeFactor(asked: Asked, fields: Fields, parts: AdminFactorPageParts): Promise<void> {
  const { ctx, cookie } = asked
  const { factors } = await parts.factors.of(ADMIN_FACTORS)
  if (factors.length === 1 && parts.adminFactors.mode === 'required') {
    noteAdmin(ctx, 'factor-remove', 'refused', parts)
    return sendAccount(asked, textFor(ctx)('platform.account.lastfactor'), 409, parts)
  }
  if (await parts.factors.remove(ADMIN_FACTORS, fields.get('id') ?? '')) {
    noteAdmin(ctx, 'factor-remove', 'ok', parts)
    await parts.pageSessions.endOthers(cookie)
  }
  goTo(ctx, ACCOUNT)
}

async function renewCodes(asked: Asked, _fields: Fields, parts: AdminFactorPageParts): Promise<void> {
  if (!(await parts.adminFactors.hasFactor())) return goTo(asked.ctx, ACCOUNT)
  noteAdmin(asked.ctx, 'factor-add', 'ok', parts)
  await sendCodes(asked, parts)
}

async function sendCodes({ ctx, session }: Asked, parts: AdminFactorPageParts): Promise<void> {
  showCodes(ctx, ACCOUNT, session.csrfToken, await parts.recoveryCodes.renew(ADMIN_FACTORS))
}

function sendNewApp(
  { ctx, session }: Asked,
  secret: string,
  refusal: string | null,
  status: number,
  parts: AdminFactorPageParts,
): void {
  showNewApp(ctx, secret, { action: ACCOUNT, formToken: session.csrfToken, refusal, status }, parts)
}

async function sendNewPasskey(
  { ctx, session }: Asked,
  refusal: string | null,
  status: number,
  { adminPasskeys, settings }: AdminFactorPageParts,
): Promise<void> {
  const passkey = await adminPasskeys.offer(passkeyPageOf(ctx), 'account', ADMIN_FACTORS, settings.adminName)
  if (passkey === null) return goTo(ctx, ACCOUNT)
  const form = modelOf(ctx, ACCOUNT, session.csrfToken)
  const model = { ...form, passkey, refusal, cancelHref: ACCOUNT, passkeyScript }
  const heading = textFor(ctx)('platform.passkey.add')
  sendPage(ctx, { template: 'new-passkey', heading, part: null, model, status })
}

async function sendAccount(
  { ctx, session }: Asked,
  refusal: string | null,
  status: number,
  { factors, settings, adminFactors, adminPasskeys }: AdminFactorPageParts,
): Promise<void> {
  const { firstAskedAt: _, factors: own, ...set } = await factors.of(ADMIN_FACTORS)
  const { places } = adminPasskeys
  const origin = adminOrigin(ctx)
  const place = places.at(origin)
  const passkeys = { isOffered: place !== null, isBlocked: places.isBlockedByAddress(origin) }
  const shown = own.map((one) => ({ ...one, isElsewhere: one.kind === 'passkey' && one.rpId !== place?.rpId }))
  const form = modelOf(ctx, ACCOUNT, session.csrfToken)
  const model = {
    ...form,
    ...set,
    factors: shown,
    passkeys,
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
  const ways = await waysOf(ctx, 'confirm', parts)
  const model = { ...form, ...shown, ...texts, way, ways, field }
  sendPage(ctx, { template: 'confirm', heading: textFor(ctx)('platform.step.title'), part: null, model, status })
}
