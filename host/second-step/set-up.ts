import { addApp } from '../../base/accounts/add-app.ts'
import { addPasskey } from '../../base/accounts/add-passkey.ts'
import { newAppOf, readSetUpSecret } from '../../base/accounts/new-app.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import { Refusal, type WayOfSigningIn } from '../../base/accounts/sign-in-steps.ts'
import { goTo } from '../../base/http/go-to.ts'
import type { Arrival } from '../login/arrival.ts'
import { auditFactor } from '../login/audit-factor.ts'
import type { SignedIn } from '../login/redirect-signed-in.ts'
import { sendPage } from '../login/send-page.ts'
import { recoveryCodesPage, setUpPage } from '../web/pages.ts'
import { advance, endOthers, STEP_WAY, type StepAttempt, type StepForm } from './complete.ts'
import { nextStepOf } from './gate.ts'
import type { FoundSignIn, OpenSignIn } from './open-sign-ins.ts'
import { stepPath } from './paths.ts'
import { levelFor } from './policy.ts'
import type { SecondStepParts } from './second-step-parts.ts'
import { formModel } from './send-pages.ts'
import { checkProof, proofNeeded, showProof } from './set-up-proof.ts'

/** Completes a sign-in after the user set up a factor for it, or postponed the set-up. */
export const BY_SET_UP: WayOfSigningIn<StepForm, StepAttempt, StepAttempt, SignedIn, SecondStepParts> = {
  ...STEP_WAY,
  throttle: { none: 'The user has completed the first step, and knows the secret that generates the codes.' },
  source: setUp,
  secondStep: { none: 'The user has already completed the second step, or has no factor yet.' },
}

/** The page where users set up a factor, because the solution requires one. */
export async function showSetUp(arrival: Arrival, found: FoundSignIn, parts: SecondStepParts): Promise<void> {
  const { open } = found
  const { ctx, solution } = arrival
  const next = await nextStepOf(arrival, open, parts)
  // If the user has set up a factor in another tab, ask for that factor instead.
  if (next.step !== 'set-up') return goTo(ctx, stepPath(solution.name, 'second-step'))
  await parts.factors.noteAsked(open.account)
  const proof = await proofNeeded(arrival, open, parts)
  if (proof !== null) return showProof(arrival, found, proof, next.canPostpone, parts)
  const shown = { secret: parts.apps.newSecret(), canPostpone: next.canPostpone, refusal: null }
  await send(arrival, open, shown, 200, parts)
}

async function setUp(attempt: StepAttempt, parts: SecondStepParts): Promise<StepAttempt | Refusal> {
  const act = attempt.fields.get('act')
  if (act === 'later') return postpone(attempt, parts)
  const unproved = await checkProof(attempt, parts)
  if (unproved !== null) return unproved
  return act === 'saved' ? advance(attempt, parts) : addFactor(attempt, parts)
}

async function postpone(attempt: StepAttempt, parts: SecondStepParts): Promise<StepAttempt | Refusal> {
  const open = { ...attempt.found.open, isPostponed: true }
  // The browser may send this form without opening the page.
  await parts.factors.noteAsked(open.account)
  return advance({ ...attempt, found: await parts.openSignIns.change(attempt.found, open) }, parts)
}

async function addFactor(attempt: StepAttempt, parts: SecondStepParts): Promise<StepAttempt | Refusal> {
  const { ctx, solution, locale, fields, found } = attempt
  const { account } = found.open
  const next = await nextStepOf(attempt, found.open, parts)
  const answer = fields.get('passkey') ?? ''
  const secret = readSetUpSecret(account, fields.get('setup') ?? '', parts)
  // Level `passkey` does not accept an authenticator app.
  const canAdd = answer !== '' || (secret !== null && (await takesApps(attempt, found.open, parts)))
  if (next.step !== 'set-up' || !canAdd) return new Refusal(null, () => goTo(ctx, stepPath(solution.name, 'set-up')))
  const added =
    answer === ''
      ? await addApp(account, { secret: secret ?? '', code: fields.get('code') ?? '', locale }, parts)
      : await addPasskey(attempt, 'set-up', account, { ...found.open, ...found.open.login }, answer, parts)
  if (added.kind === 'taken') return new Refusal(null, () => goTo(ctx, stepPath(solution.name, 'second-step')))
  if (added.kind === 'added') return noteAdded(attempt, added.method, parts)
  const shown = { secret: secret ?? parts.apps.newSecret(), canPostpone: next.canPostpone, refusal: added.refusal }
  return new Refusal(null, () => send(attempt, found.open, shown, 401, parts))
}

async function noteAdded(
  attempt: StepAttempt,
  method: SignInMethod,
  parts: SecondStepParts,
): Promise<StepAttempt | Refusal> {
  const { solution, found } = attempt
  const { account, login, methods } = found.open
  auditFactor(attempt, login, 'factor-add', 'ok', parts)
  await endOthers(account, { open: found }, parts)
  const changed = await parts.openSignIns.change(found, { ...found.open, methods: [...methods, method] })
  // Setting up a passkey doesn't replace the recovery codes that the user saved earlier.
  const { recoveryCodesLeft } = await parts.factors.of(account)
  if (recoveryCodesLeft > 0 && method !== 'totp') return advance({ ...attempt, found: changed }, parts)
  const codes = await parts.recoveryCodes.create(account)
  return new Refusal(null, () => {
    const model = { ...formModel(attempt, stepPath(solution.name, 'set-up'), parts), codes }
    sendPage(attempt, 200, (frame) => recoveryCodesPage(frame, model))
  })
}

/** Whether the policy accepts an authenticator app. */
async function takesApps(
  { solution }: Pick<Arrival, 'solution'>,
  { login, isRaised }: OpenSignIn,
  { policies }: Pick<SecondStepParts, 'policies'>,
): Promise<boolean> {
  return levelFor(await policies.policyFor(solution), { permissions: login.permissions, isRaised }) !== 'passkey'
}

async function send(
  arrival: Arrival,
  open: OpenSignIn,
  shown: { readonly secret: string; readonly canPostpone: boolean; readonly refusal: string | null },
  status: number,
  parts: SecondStepParts,
): Promise<void> {
  const { solution, serverUrl } = arrival
  const { account, login } = open
  const { secret, ...others } = shown
  const form = formModel(arrival, stepPath(solution.name, 'set-up'), parts)
  const passkey = await parts.passkeyRequests.offer(arrival, 'set-up', account, login.username)
  const takesApp = await takesApps(arrival, open, parts)
  const isBlocked = parts.passkeyRequests.places.isBlockedByAddress(serverUrl)
  const model = {
    ...form,
    ...others,
    app: newAppOf(solution.manifest, { account, login }, secret, parts),
    takesApp,
    passkey,
    isBlocked,
  }
  sendPage(arrival, status, (frame) => setUpPage(frame, model))
}
