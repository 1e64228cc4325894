import type { Context } from 'koa'
import { addApp } from '../../base/accounts/add-app.ts'
import { addPasskey } from '../../base/accounts/add-passkey.ts'
import { newAppOf, readSetUpSecret } from '../../base/accounts/new-app.ts'
import type { FoundSignIn } from '../../base/accounts/open-sign-ins.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import { Refusal } from '../../base/accounts/sign-in-steps.ts'
import { goTo } from '../../base/http/go-to.ts'
import { passkeyScript } from '../../base/web/pages.ts'
import { originOf, REALM } from '../access/page-sessions.ts'
import { passkeyPageOf, TITLE } from '../accounts/passkey-page.ts'
import { localeOf, sendPage, textFor } from '../pages/page.ts'
import { formModel, STEP_WAY, type StepAttempt, type StepWay, showOver, userOf } from './complete.ts'
import { type MemberSignIn, nextStepOf, SET_UP_PATH } from './gate.ts'
import type { SecondStepParts } from './parts.ts'
import { checkProof, needsProof, showProof } from './set-up-proof.ts'

/** Completes a sign-in after the user set up a factor for it. */
export const BY_CENTER_SET_UP: StepWay = {
  ...STEP_WAY,
  throttle: {
    none: 'There is nothing to guess: the user has completed the first step, and the page shows the secret that generates the codes.',
  },
  source: setUp,
  secondStep: { none: 'The user has already completed the second step, or has no factor yet.' },
}

/** The page where users set up a factor, because an organisation requires one. */
export async function showSetUp(ctx: Context, found: FoundSignIn<MemberSignIn>, parts: SecondStepParts): Promise<void> {
  const user = await userOf(found, parts)
  if (user === null) return showOver(ctx)
  const next = await nextStepOf(user, found.open.methods, parts)
  // If the user has meanwhile set up a factor in another tab, the sign-in continues with a different step.
  if (next !== null && next !== SET_UP_PATH) return goTo(ctx, next)
  if (needsProof(found, user, parts)) return showProof(ctx, found, user, parts)
  await send(ctx, found.open, parts.apps.newSecret(), null, 200, parts)
}

async function setUp(attempt: StepAttempt, parts: SecondStepParts): Promise<StepAttempt | Refusal> {
  const { ctx, fields, found } = attempt
  const user = await userOf(found, parts)
  if (user === null) return new Refusal(null, () => showOver(ctx))
  const next = await nextStepOf(user, found.open.methods, parts)
  if (next === null) return attempt
  if (next !== SET_UP_PATH) return new Refusal(null, () => goTo(ctx, next))
  if (needsProof(found, user, parts)) return checkProof(attempt, user, parts)
  const { account } = found.open
  const answer = fields.get('passkey') ?? ''
  const secret = answer === '' ? readSetUpSecret(account, fields.get('setup') ?? '', parts) : null
  if (answer === '' && secret === null) return new Refusal(null, () => goTo(ctx, SET_UP_PATH))
  const owner = { username: user.username, permissions: [], tenant: null, locale: 'en' }
  const added =
    secret === null
      ? await addPasskey(passkeyPageOf(ctx), 'set-up', account, owner, answer, parts)
      : await addApp(account, { secret, code: fields.get('code') ?? '', locale: localeOf(ctx) }, parts)
  if (added.kind === 'taken') return new Refusal(null, () => goTo(ctx, SET_UP_PATH))
  if (added.kind === 'added') return noteAdded(attempt, added.method, parts)
  return new Refusal(null, () => send(ctx, found.open, secret ?? parts.apps.newSecret(), added.refusal, 401, parts))
}

/** Shows the recovery codes. The sign-in continues when the user has saved them. */
async function noteAdded(
  { ctx, found }: StepAttempt,
  method: SignInMethod,
  { credentials, sessions, openSignIns, recoveryCodes }: SecondStepParts,
): Promise<Refusal> {
  const { account, username, methods } = found.open
  await credentials.note(ctx, username, 'factor-add', 'ok')
  await sessions.endOfAccount({ factorsOf: account.source, uid: account.uid }, REALM, null)
  await openSignIns.endOfAccount(account, found)
  await openSignIns.change(found, { ...found.open, methods: [...methods, method] })
  const codes = await recoveryCodes.create(account)
  return new Refusal(null, () => showCodes(ctx, SET_UP_PATH, '', codes))
}

export function showCodes(ctx: Context, action: string, formToken: string, codes: readonly string[]): void {
  const model = { ...formModel(action, formToken), codes }
  sendPage(ctx, { template: 'recovery-codes', heading: textFor(ctx)('platform.recovery.title'), model }, null)
}

async function send(
  ctx: Context,
  { account, username }: MemberSignIn,
  secret: string,
  refusal: string | null,
  status: number,
  parts: SecondStepParts,
): Promise<void> {
  const passkey = await parts.passkeyRequests.offer(passkeyPageOf(ctx), 'set-up', account, username)
  const app = newAppOf({ title: TITLE }, { account, login: { username } }, secret, parts)
  const isBlocked = parts.passkeyRequests.places.isBlockedByAddress(originOf(ctx))
  const shown = { app, takesApp: true, passkey, isBlocked, canPostpone: false, refusal, passkeyScript }
  const model = { ...formModel(SET_UP_PATH, ''), ...shown }
  sendPage(ctx, { template: 'factor-set-up', heading: textFor(ctx)('platform.setup.title'), model, status }, null)
}
