import { browserName } from '../../base/accounts/browser-name.ts'
import { FACTOR_ACTS, type FactorPage } from '../../base/accounts/factor-acts.ts'
import type { Factor } from '../../base/accounts/factors.ts'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import { shownFactors, usableFactors } from '../../base/accounts/usable-factors.ts'
import { goTo } from '../../base/http/go-to.ts'
import { platformText } from '../../base/web/texts.ts'
import { canRequire } from '../../runtime/bundle/manifest-schema.ts'
import type { Arrival } from '../login/arrival.ts'
import { auditFactor } from '../login/audit-factor.ts'
import { passwordPath } from '../login/change-password.ts'
import { sendPage } from '../login/send-page.ts'
import { type AccountModel, accountPage, newAppPage, newPasskeyPage, recoveryCodesPage } from '../web/pages.ts'
import { addressOf, requestAddress } from './account-address.ts'
import { languagesOf, setLanguage } from './account-language.ts'
import { endOthers } from './complete.ts'
import { accountOf, confirmationOf, goToConfirm } from './confirmation.ts'
import { accountPath, DONE, type Done } from './paths.ts'
import { type Level, levelFor } from './policy.ts'
import type { SecondStepParts } from './second-step-parts.ts'
import { formModel } from './send-pages.ts'

/** Maximum sessions and audit entries on the page. */
const MOST_SHOWN = 20

/** The page where users manage how they sign in. */
export async function showAccount(arrival: Arrival, found: FoundSession, parts: SecondStepParts): Promise<void> {
  const { url, locale } = arrival
  const done = DONE.find((one) => one === url.get('done'))
  const isDone = done !== undefined && (await isTrue(done, arrival, found, parts))
  const said = isDone ? platformText(locale, `platform.account.done.${done}`) : null
  return send(arrival, found, { said }, parts)
}

/** Anyone can make up the page's URL, so check messages that could mislead the user. */
async function isTrue(done: Done, arrival: Arrival, found: FoundSession, parts: SecondStepParts): Promise<boolean> {
  if (done === 'confirmed') return !(await confirmationOf(found, arrival.serverUrl, parts)).isNeeded
  return done === 'language' || (await parts.sessions.listOwn(found.session, 2)).length === 1
}

export async function submitAccount(
  arrival: Arrival,
  found: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<void> {
  const { ctx, solution } = arrival
  const name = fields.get('act') ?? ''
  const [act, ofFactors] = [ACTS.get(name), FACTOR_ACTS.get(name)]
  if (act === undefined && ofFactors === undefined) return goTo(ctx, accountPath(solution.name))
  // Ending a session only removes access, so it needs no confirmation.
  const needsConfirmation = act === undefined || act.needsConfirmation
  const isMissing = needsConfirmation && (await confirmationOf(found, arrival.serverUrl, parts)).isNeeded
  if (isMissing) return goToConfirm(ctx, solution.name, 'account')
  await act?.run(arrival, found, fields, parts)
  await ofFactors?.(factorPageOf(arrival, found, parts), fields, parts)
}

type Act = (
  arrival: Arrival,
  found: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
) => Promise<void>

/**
 * The actions of the page's forms, keyed by the value of the field `act`. The form below new recovery codes has no
 * `act`: its button only returns to the page.
 */
const ACTS = new Map<string, { readonly needsConfirmation: boolean; readonly run: Act }>([
  ['new-address', { needsConfirmation: true, run: changeAddress }],
  ['confirm-address', { needsConfirmation: false, run: changeAddress }],
  ['language', { needsConfirmation: false, run: setLanguage }],
  ['end', { needsConfirmation: false, run: endSession }],
  ['end-others', { needsConfirmation: false, run: endAllOthers }],
])

function factorPageOf(arrival: Arrival, found: FoundSession, parts: SecondStepParts): FactorPage {
  const { solution } = arrival
  const { session, cookie } = found
  const account = accountOf(session)
  const path = accountPath(solution.name)
  const form = () => ({ ...formModel(arrival, path, parts), cancelHref: path })
  return {
    page: arrival,
    account,
    user: session,
    path,
    note: (action, outcome) => auditFactor(arrival, session, action, outcome, parts),
    confirm: (method) => parts.sessions.confirm(solution.name, cookie, [...new Set([...session.methods, method])]),
    endOthers: () => endOthers(account, { session }, parts),
    mustKeep: (id, factors) => isLast(arrival, found, { id, factors }, parts),
    show: {
      account: (refusal, status) => send(arrival, found, { refusal, status }, parts),
      newApp: (app, refusal, status) =>
        sendPage(arrival, status, (frame) => newAppPage(frame, { ...form(), app, refusal })),
      newPasskey: (passkey, refusal, status) =>
        sendPage(arrival, status, (frame) => newPasskeyPage(frame, { ...form(), passkey, refusal })),
      codes: (codes) => sendPage(arrival, 200, (frame) => recoveryCodesPage(frame, { ...form(), codes })),
    },
  }
}

/** Whether the user must keep this factor: the policy requires one, and accepts none of the user's other factors. */
async function isLast(
  { solution, serverUrl }: Arrival,
  { session }: FoundSession,
  { id, factors }: { readonly id: string; readonly factors: readonly Factor[] },
  parts: SecondStepParts,
): Promise<boolean> {
  const level = await levelOf(solution, session, parts)
  const rest = usableFactors(
    { factors: factors.filter((one) => one.id !== id), recoveryCodesLeft: 0 },
    serverUrl,
    parts,
  )
  return canRequire(level) && (level === 'passkey' ? !rest.passkey : !rest.passkey && !rest.app)
}

/** The level that the policy requires of this user. Scripts can raise it for a sign-in. */
async function levelOf(
  solution: Arrival['solution'],
  { permissions }: FoundSession['session'],
  { policies }: SecondStepParts,
): Promise<Level> {
  return levelFor(await policies.policyFor(solution), { permissions, isRaised: false })
}

/** A new address takes effect once the user has opened the link that is mailed to it. */
async function changeAddress(
  arrival: Arrival,
  found: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<void> {
  return send(arrival, found, await requestAddress(arrival, found.session, fields, parts), parts)
}

async function endSession(
  { ctx, solution }: Arrival,
  { session }: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<void> {
  const own = await parts.sessions.listOwn(session, MOST_SHOWN)
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
  await endOthers(accountOf(session), { session }, parts)
  goTo(ctx, accountPath(solution.name, 'signed-out'))
}

type Shown = Pick<AccountModel, 'refusal' | 'said' | 'entered'> & { readonly status: number }
const AS_IT_IS: Shown = { status: 200, refusal: null, said: null, entered: null }

async function send(
  arrival: Arrival,
  { session }: FoundSession,
  answer: Partial<Shown>,
  parts: SecondStepParts,
): Promise<void> {
  const { solution, serverUrl } = arrival
  const { status, ...shown } = { ...AS_IT_IS, ...answer }
  const form = formModel(arrival, accountPath(solution.name), parts)
  const factors = await parts.factors.of(accountOf(session))
  const user = session.factorsOf === 'users' ? await parts.users.get(session.uid) : null
  const directory = user?.directory ?? null
  const hasPassword = session.factorsOf === 'users' && session.source === 'users' && directory === null
  // An earlier user may have had the same name.
  const from = user?.createdAt
  const activity = { limit: MOST_SHOWN, actor: `user:${session.username}`, solution: solution.name, from }
  const { items: entries } = await parts.audit.read(activity)
  const model = {
    ...form,
    solution: { ...form.solution, href: `/solution/${solution.name}/index.html` },
    username: session.username,
    passwordHref: hasPassword ? passwordPath(solution.name) : null,
    email: await addressOf(session, parts),
    language: languagesOf(solution, session.locale),
    directory,
    ...shownFactors(factors, serverUrl, parts.passkeyRequests.places),
    isFactorAsked: (await levelOf(solution, session, parts)) !== 'off',
    sessions: (await parts.sessions.listOwn(session, MOST_SHOWN)).map((one) => ({
      ...one,
      browser: browserName(one.agent),
      isThis: one.id === session.publicId,
    })),
    entries,
    ...shown,
  }
  sendPage(arrival, status, (frame) => accountPage(frame, model))
}
