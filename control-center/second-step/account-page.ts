import type Router from '@koa/router'
import { addPasskey } from '../../base/accounts/add-passkey.ts'
import { newAppOf, readSetUpSecret } from '../../base/accounts/new-app.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import { passkeyScript } from '../../base/web/pages.ts'
import { personsFactors } from '../access/confirmations.ts'
import { originOf, REALM } from '../access/page-sessions.ts'
import { goTo } from '../accounts/own-form.ts'
import { passkeyPageOf, TITLE } from '../accounts/passkey-page.ts'
import { sendPage, textFor } from '../pages/page.ts'
import { formModel } from './complete.ts'
import { CONFIRM_PATH } from './confirm-page.ts'
import { type Asked, addOwnPage, type Fields } from './own-pages.ts'
import type { SecondStepParts } from './parts.ts'
import { showCodes } from './set-up.ts'

const ACCOUNT = '/account'

/** The page on which people manage how they sign in. */
export function addAccountPage(router: Router, parts: SecondStepParts): void {
  addOwnPage(router, ACCOUNT, (asked) => send(asked, null, 200, parts), submit, parts)
}

async function submit(asked: Asked, fields: Fields, parts: SecondStepParts): Promise<void> {
  const { ctx, session } = asked
  const act = ACTS.get(fields.get('act') ?? '')
  if (act === undefined) return goTo(ctx, ACCOUNT)
  if (await parts.confirmations.isNeeded(session.session)) return goTo(ctx, `${CONFIRM_PATH}?to=${ACCOUNT}`)
  await act(asked, fields, parts)
}

/**
 * The actions of the page's forms, by the value of their field `act`. Each requires confirmation. The button below new
 * recovery codes only links back to the page.
 */
const ACTS = new Map<string, (asked: Asked, fields: Fields, parts: SecondStepParts) => Promise<void>>([
  ['new-app', async (asked, _fields, parts) => sendNewApp(asked, parts.apps.newSecret(), null, 200, parts)],
  ['add-app', addApp],
  ['new-passkey', (asked, _fields, parts) => sendNewPasskey(asked, null, 200, parts)],
  ['add-passkey', addNewPasskey],
  ['remove', removeFactor],
  ['new-codes', renewCodes],
])

async function addApp(asked: Asked, fields: Fields, parts: SecondStepParts): Promise<void> {
  const { ctx, user } = asked
  const account = personsFactors(user.uid)
  const text = textFor(ctx)
  const secret = readSetUpSecret(account, fields.get('setup') ?? '', parts)
  if (secret === null) return goTo(ctx, ACCOUNT)
  const added = await parts.apps.add(account, secret, fields.get('code') ?? '', text('platform.factor.app'), true)
  if (added === 'wrong') return sendNewApp(asked, secret, text('platform.step.wrong'), 401, parts)
  await noteAdded(asked, 'totp', parts)
  await sendNewCodes(asked, parts)
}

async function addNewPasskey(asked: Asked, fields: Fields, parts: SecondStepParts): Promise<void> {
  const { ctx, user, session } = asked
  const account = personsFactors(user.uid)
  const answer = fields.get('passkey') ?? ''
  const added = await addPasskey(passkeyPageOf(ctx), 'account', account, session.session, answer, parts)
  if (added.kind === 'refused') return sendNewPasskey(asked, added.refusal, 401, parts)
  await noteAdded(asked, added.method, parts)
  // Another factor keeps the codes that the person saved with the first one.
  const { recoveryCodesLeft } = await parts.factors.of(account)
  if (recoveryCodesLeft === 0) return sendNewCodes(asked, parts)
  goTo(ctx, ACCOUNT)
}

/** People who add a factor also prove that they have it, so this is a confirmation too. */
async function noteAdded({ ctx, user, session }: Asked, method: SignInMethod, parts: SecondStepParts): Promise<void> {
  await parts.credentials.note(ctx, user.username, 'factor-add', 'ok')
  await parts.pageSessions.confirm(session, method)
  await endOthers({ user, session }, parts)
}

async function removeFactor(asked: Asked, fields: Fields, parts: SecondStepParts): Promise<void> {
  const { ctx, user } = asked
  const account = personsFactors(user.uid)
  const { factors } = await parts.factors.of(account)
  if (factors.length === 1 && (await parts.organisations.requireSecondFactor(user.uid))) {
    await parts.credentials.note(ctx, user.username, 'factor-remove', 'refused')
    return send(asked, textFor(ctx)('platform.account.lastfactor'), 409, parts)
  }
  if (await parts.factors.remove(account, fields.get('id') ?? '')) {
    await parts.credentials.note(ctx, user.username, 'factor-remove', 'ok')
    await endOthers(asked, parts)
  }
  goTo(ctx, ACCOUNT)
}

async function endOthers(
  { user, session: { session } }: Pick<Asked, 'user' | 'session'>,
  { sessions }: SecondStepParts,
): Promise<void> {
  await sessions.endOfAccount({ factorsOf: 'users', uid: user.uid }, REALM, session.publicId)
}

async function renewCodes(asked: Asked, _fields: Fields, parts: SecondStepParts): Promise<void> {
  const { ctx, user } = asked
  if (!(await parts.confirmations.hasFactor(user.uid))) return goTo(ctx, ACCOUNT)
  await parts.credentials.note(ctx, user.username, 'factor-add', 'ok')
  await sendNewCodes(asked, parts)
}

async function sendNewCodes({ ctx, user, session }: Asked, { recoveryCodes }: SecondStepParts): Promise<void> {
  showCodes(ctx, ACCOUNT, session.csrfToken, await recoveryCodes.renew(personsFactors(user.uid)))
}

function sendNewApp(
  { ctx, user, session }: Asked,
  secret: string,
  refusal: string | null,
  status: number,
  parts: SecondStepParts,
): void {
  const app = newAppOf({ title: TITLE }, { account: personsFactors(user.uid), login: user }, secret, parts)
  const model = { ...formModel(ACCOUNT, session.csrfToken), app, refusal, cancelHref: ACCOUNT }
  sendPage(ctx, { template: 'new-app', heading: textFor(ctx)('platform.setup.own'), model, status }, null)
}

async function sendNewPasskey(
  { ctx, user, session }: Asked,
  refusal: string | null,
  status: number,
  { passkeyRequests }: SecondStepParts,
): Promise<void> {
  const account = personsFactors(user.uid)
  const passkey = await passkeyRequests.offer(passkeyPageOf(ctx), 'account', account, user.username)
  if (passkey === null) return goTo(ctx, ACCOUNT)
  const form = formModel(ACCOUNT, session.csrfToken)
  const model = { ...form, passkey, refusal, cancelHref: ACCOUNT, passkeyScript }
  sendPage(ctx, { template: 'new-passkey', heading: textFor(ctx)('platform.passkey.add'), model, status }, null)
}

async function send(
  { ctx, user, session }: Asked,
  refusal: string | null,
  status: number,
  { factors, passkeyRequests, limits }: SecondStepParts,
): Promise<void> {
  const { firstAskedAt: _, factors: own, ...set } = await factors.of(personsFactors(user.uid))
  const { places } = passkeyRequests
  const place = places.at(originOf(ctx))
  const model = {
    ...formModel(ACCOUNT, session.csrfToken),
    ...set,
    factors: own.map((one) => ({ ...one, isElsewhere: one.kind === 'passkey' && one.rpId !== place?.rpId })),
    passkeys: { isOffered: place !== null, isBlocked: places.isBlockedByAddress(originOf(ctx)) },
    user,
    leastLength: limits.PASSWORD_LENGTH,
    refusal,
  }
  sendPage(ctx, { template: 'account', heading: textFor(ctx)('center.account.title'), model, status }, null)
}
