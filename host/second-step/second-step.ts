import { checkForm, enteredMethod, type FactorAnswer, outcomeOf, refusalOf } from '../../base/accounts/check-factor.ts'
import { Refusal, type WayOfSigningIn } from '../../base/accounts/sign-in-steps.ts'
import { usableFactors } from '../../base/accounts/usable-factors.ts'
import type { Arrival } from '../login/arrival.ts'
import { auditFactor } from '../login/audit-factor.ts'
import type { SignedIn } from '../login/redirect-signed-in.ts'
import { sendPage } from '../login/send-page.ts'
import { secondStepPage } from '../web/pages.ts'
import { advance, STEP_WAY, type StepAttempt, type StepForm } from './complete.ts'
import type { FoundSignIn, OpenSignIn } from './open-sign-ins.ts'
import { stepPath } from './paths.ts'
import { levelFor } from './policy.ts'
import type { SecondStepParts } from './second-step-parts.ts'
import { formModel, sendStepOver } from './send-pages.ts'

/** Completes a sign-in with a passkey, a code from an authenticator app, or a recovery code. */
export const BY_SECOND_STEP: WayOfSigningIn<StepForm, StepAttempt, StepAttempt, SignedIn, SecondStepParts> = {
  ...STEP_WAY,
  throttle: { none: '`checkFactor` counts the attempts, together with attempts to confirm an action.' },
  source: checkStep,
  secondStep: { none: 'This is the second step.' },
}

/** The page that asks for the second step. */
export function showSecondStep(arrival: Arrival, { open }: FoundSignIn, parts: SecondStepParts): Promise<void> {
  return send(arrival, open, { isRecovery: arrival.url.has('recovery'), refusal: null }, 200, parts)
}

async function checkStep(attempt: StepAttempt, parts: SecondStepParts): Promise<StepAttempt | Refusal> {
  const { fields, found } = attempt
  const { account, login, methods } = found.open
  const answer = await checkForm(attempt, 'second-step', account, fields, parts)
  auditAnswer(attempt, login, 'second-step', enteredMethod(fields), answer, parts)
  if (answer.kind === 'right') {
    const open = { ...found.open, methods: [...methods, answer.method] }
    return advance({ ...attempt, found: await parts.openSignIns.change(found, open) }, parts)
  }
  const isWrong = answer.kind !== 'throttled' && answer.kind !== 'locked'
  if (isWrong && (await parts.openSignIns.noteWrong(found)) === 0) {
    return new Refusal({ outcome: 'refused', username: login.username }, () => sendStepOver(attempt))
  }
  return new Refusal(null, () => {
    const { status, text: refusal } = refusalOf(attempt, answer)
    return send(attempt, found.open, { isRecovery: fields.has('recovery'), refusal }, status, parts)
  })
}

/** Records the result in the audit log. Adds a second entry if a passkey seems to have been cloned. */
export function auditAnswer(
  arrival: Arrival,
  user: { readonly username: string },
  action: 'second-step' | 'confirm',
  method: ReturnType<typeof enteredMethod>,
  answer: FactorAnswer,
  parts: Pick<SecondStepParts, 'audit'>,
): void {
  auditFactor(arrival, user, action, outcomeOf(answer), parts, method)
  if (answer.kind === 'copied') auditFactor(arrival, user, 'passkey-clone', 'refused', parts)
}

async function send(
  arrival: Arrival,
  { account, login, isRaised }: OpenSignIn,
  shown: { readonly isRecovery: boolean; readonly refusal: string | null },
  status: number,
  parts: SecondStepParts,
): Promise<void> {
  const { name } = arrival.solution
  const form = formModel(arrival, stepPath(name, 'second-step'), parts)
  const usable = usableFactors(await parts.factors.of(account), arrival.serverUrl, parts)
  const policy = await parts.policies.policyFor(arrival.solution)
  const level = levelFor(policy, { permissions: login.permissions, isRaised })
  const ways = {
    passkey: usable.passkey ? await parts.passkeyRequests.ask(arrival, 'second-step', account) : null,
    hasApp: usable.app && !(level === 'passkey' && usable.passkey),
  }
  const model = { ...form, ...shown, ways, username: login.username, cancelHref: `/solution/${name}/index.html` }
  sendPage(arrival, status, (frame) => secondStepPage(frame, model))
}
