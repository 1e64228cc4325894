import { addPasskey } from '../../base/accounts/add-passkey.ts'
import { browserName } from '../../base/accounts/browser-name.ts'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import { newAppOf, readSetUpSecret } from '../../base/accounts/new-app.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import { usableFactors } from '../../base/accounts/usable-factors.ts'
import { platformText } from '../../base/web/texts.ts'
import { canRequire } from '../../runtime/bundle/manifest-schema.ts'
import type { Arrival } from '../login/arrival.ts'
import { auditFactor } from '../login/audit-factor.ts'
import { passwordPath } from '../login/change-password.ts'
import { goTo } from '../login/redirect-signed-in.ts'
import { sendPage } from '../login/send-page.ts'
import { accountPage, newAppPage, newPasskeyPage, recoveryCodesPage } from '../web/pages.ts'
import { addressOf, requestAddress } from './account-address.ts'
import { languagesOf, setLanguage } from './account-language.ts'
import { endOthers } from './complete.ts'
import { accountOf, confirmationOf, goToConfirm } from './confirmation.ts'
import { accountPath } from './paths.ts'
import { levelFor } from './policy.ts'
import type { SecondStepParts } from './second-step-parts.ts'
import { formModel } from './send-pages.ts'

/** Maximum sessions and audit entries on the page. */
const MOST_SHOWN = 20

/** The page on which users manage how they sign in. */
export function showAccount(arrival: Arrival, found: FoundSession, parts: SecondStepParts): Promise<void> {
  return send(arrival, found, null, 200, parts)
}

export async function submitAccount(
  arrival: Arrival,
  found: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<void> {
  const { ctx, solution } = arrival
  const act = ACTS.get(fields.get('act') ?? '')
  if (act === undefined) return goTo(ctx, accountPath(solution.name))
  // Ending a session only removes access, so it needs no confirmation.
  const isMissing = act.needsConfirmation && (await confirmationOf(found, arrival.serverUrl, parts)).isNeeded
  if (isMissing) return goToConfirm(ctx, solution.name, 'account')
  await act.run(arrival, found, fields, parts)
}

type Act = (
  arrival: Arrival,
  found: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
) => Promise<void>

/**
 * The actions of the page's forms, by the value of their field `act`. The button below new recovery codes only links
 * back to the page.
 */
const ACTS = new Map<string, { readonly needsConfirmation: boolean; readonly run: Act }>([
  ['new-app', { needsConfirmation: true, run: showNewApp }],
  ['add-app', { needsConfirmation: true, run: addApp }],
  ['new-passkey', { needsConfirmation: true, run: showNewPasskey }],
  ['add-passkey', { needsConfirmation: true, run: addNewPasskey }],
  ['remove', { needsConfirmation: true, run: removeFactor }],
  ['new-codes', { needsConfirmation: true, run: renewCodes }],
  ['new-address', { needsConfirmation: true, run: changeAddress }],
  ['confirm-address', { needsConfirmation: false, run: changeAddress }],
  ['language', { needsConfirmation: false, run: setLanguage }],
  ['end', { needsConfirmation: false, run: endSession }],
  ['end-others', { needsConfirmation: false, run: endAllOthers }],
])

async function showNewApp(arrival: Arrival, found: FoundSession, _fields: unknown, parts: SecondStepParts) {
  sendNewApp(arrival, found, parts.apps.newSecret(), null, 200, parts)
}

async function addApp(
  arrival: Arrival,
  found: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<void> {
  const { ctx, solution, locale } = arrival
  const account = accountOf(found.session)
  const secret = readSetUpSecret(account, fields.get('setup') ?? '', parts)
  if (secret === null) return goTo(ctx, accountPath(solution.name))
  const name = platformText(locale, 'platform.factor.app')
  const added = await parts.apps.add(account, secret, fields.get('code') ?? '', name, true)
  if (added === 'wrong') {
    return sendNewApp(arrival, found, secret, platformText(locale, 'platform.step.wrong'), 401, parts)
  }
  await noteAdded(arrival, found, 'totp', parts)
  await sendNewCodes(arrival, found, parts)
}

async function showNewPasskey(arrival: Arrival, found: FoundSession, _fields: unknown, parts: SecondStepParts) {
  await sendNewPasskey(arrival, found, null, 200, parts)
}

async function addNewPasskey(
  arrival: Arrival,
  found: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<void> {
  const account = accountOf(found.session)
  const added = await addPasskey(arrival, 'account', account, found.session, fields.get('passkey') ?? '', parts)
  if (added.kind === 'refused') return sendNewPasskey(arrival, found, added.refusal, 401, parts)
  await noteAdded(arrival, found, added.method, parts)
  // Setting up another factor doesn't replace the recovery codes that the user saved with the first one.
  const { recoveryCodesLeft } = await parts.factors.of(account)
  if (recoveryCodesLeft === 0) return sendNewCodes(arrival, found, parts)
  goTo(arrival.ctx, accountPath(arrival.solution.name))
}

/** A user who adds a factor also proves that they have it, so this is a confirmation too. */
async function noteAdded(
  arrival: Arrival,
  { session, cookie }: FoundSession,
  method: SignInMethod,
  parts: SecondStepParts,
): Promise<void> {
  auditFactor(arrival, session, 'factor-add', 'ok', parts)
  await parts.sessions.confirm(arrival.solution.name, cookie, [...new Set([...session.methods, method])])
  await endOthers(accountOf(session), session, parts)
}

async function removeFactor(
  arrival: Arrival,
  found: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<void> {
  const { ctx, solution, locale } = arrival
  const { session } = found
  const account = accountOf(session)
  const id = fields.get('id') ?? ''
  const { factors } = await parts.factors.of(account)
  const policy = await parts.policies.policyFor(solution)
  const level = levelFor(policy, { permissions: session.permissions, isRaised: false })
  const rest = usableFactors({ factors: factors.filter((one) => one.id !== id) }, arrival.serverUrl, parts)
  const isLast = level === 'passkey' ? !rest.passkey : !rest.passkey && !rest.app
  if (isLast && canRequire(level)) {
    auditFactor(arrival, session, 'factor-remove', 'refused', parts)
    return send(arrival, found, platformText(locale, 'platform.account.lastfactor'), 409, parts)
  }
  if (await parts.factors.remove(account, id)) {
    auditFactor(arrival, session, 'factor-remove', 'ok', parts)
    await endOthers(account, session, parts)
  }
  goTo(ctx, accountPath(solution.name))
}

async function renewCodes(arrival: Arrival, found: FoundSession, _fields: unknown, parts: SecondStepParts) {
  const { factors } = await parts.factors.of(accountOf(found.session))
  if (factors.length === 0) return goTo(arrival.ctx, accountPath(arrival.solution.name))
  auditFactor(arrival, found.session, 'factor-add', 'ok', parts)
  await sendNewCodes(arrival, found, parts)
}

/** A new address takes effect once the user has opened the link that is mailed to it. */
async function changeAddress(
  arrival: Arrival,
  found: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<void> {
  const { status, refusal, said } = await requestAddress(arrival, found.session, fields, parts)
  return send(arrival, found, refusal, status, parts, said)
}

async function endSession(
  { ctx, solution }: Arrival,
  { session }: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<void> {
  const own = await sessionsOf(session, parts)
  const one = own.find(({ id }) => id === fields.get('id'))
  const ended = one === undefined ? null : await parts.sessions.endByPublicId(one.id)
  if (ended !== null && ended.selector !== null) await parts.remembered.endSeries(ended.selector)
  goTo(ctx, accountPath(solution.name))
}

async function endAllOthers(
  { ctx, solution }: Arrival,
  { session }: FoundSession,
  _fields: unknown,
  parts: SecondStepParts,
): Promise<void> {
  await endOthers(accountOf(session), session, parts)
  goTo(ctx, accountPath(solution.name))
}

/** The account's sessions in this solution. */
async function sessionsOf({ uid, realm }: FoundSession['session'], { sessions }: SecondStepParts) {
  return (await sessions.list({ limit: MOST_SHOWN, uid, solution: realm })).items
}

async function sendNewCodes(arrival: Arrival, { session }: FoundSession, parts: SecondStepParts): Promise<void> {
  const codes = await parts.recoveryCodes.renew(accountOf(session))
  const model = { ...formModel(arrival, accountPath(arrival.solution.name), parts), codes }
  sendPage(arrival, 200, (frame) => recoveryCodesPage(frame, model))
}

function sendNewApp(
  arrival: Arrival,
  { session }: FoundSession,
  secret: string,
  refusal: string | null,
  status: number,
  parts: SecondStepParts,
): void {
  const { solution } = arrival
  const path = accountPath(solution.name)
  const app = newAppOf(solution.manifest, { account: accountOf(session), login: session }, secret, parts)
  const model = { ...formModel(arrival, path, parts), app, refusal, cancelHref: path }
  sendPage(arrival, status, (frame) => newAppPage(frame, model))
}

async function sendNewPasskey(
  arrival: Arrival,
  { session }: FoundSession,
  refusal: string | null,
  status: number,
  parts: SecondStepParts,
): Promise<void> {
  const path = accountPath(arrival.solution.name)
  const passkey = await parts.passkeyRequests.offer(arrival, 'account', accountOf(session), session.username)
  if (passkey === null) return goTo(arrival.ctx, path)
  const model = { ...formModel(arrival, path, parts), passkey, refusal, cancelHref: path }
  sendPage(arrival, status, (frame) => newPasskeyPage(frame, model))
}

async function send(
  arrival: Arrival,
  { session }: FoundSession,
  refusal: string | null,
  status: number,
  parts: SecondStepParts,
  said: string | null = null,
): Promise<void> {
  const { solution, serverUrl } = arrival
  const form = formModel(arrival, accountPath(solution.name), parts)
  const { firstAskedAt: _, factors, ...set } = await parts.factors.of(accountOf(session))
  const { places } = parts.passkeyRequests
  const place = places.at(serverUrl)
  const directory = session.factorsOf === 'users' ? ((await parts.users.get(session.uid))?.directory ?? null) : null
  const hasPassword = session.factorsOf === 'users' && session.source === 'users' && directory === null
  const activity = { limit: MOST_SHOWN, actor: `user:${session.username}`, solution: solution.name }
  const { items: entries } = await parts.audit.read(activity)
  const model = {
    ...form,
    solution: { ...form.solution, href: `/solution/${solution.name}/index.html` },
    username: session.username,
    passwordHref: hasPassword ? passwordPath(solution.name) : null,
    email: await addressOf(session, parts),
    language: languagesOf(solution, session.locale),
    directory,
    ...set,
    factors: factors.map((one) => ({ ...one, isElsewhere: one.kind === 'passkey' && one.rpId !== place?.rpId })),
    passkeys: { isOffered: place !== null, isBlocked: places.isBlockedByAddress(serverUrl) },
    sessions: (await sessionsOf(session, parts)).map((one) => ({
      ...one,
      browser: browserName(one.agent),
      isThis: one.id === session.publicId,
    })),
    entries,
    refusal,
    said,
  }
  sendPage(arrival, status, (frame) => accountPage(frame, model))
}
