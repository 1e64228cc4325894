import { Refusal, type WayOfSigningIn } from '../../base/accounts/sign-in-steps.ts'
import { platformText } from '../../base/web/texts.ts'
import type { Arrival } from '../login/arrival.ts'
import type { SignedIn } from '../login/redirect-signed-in.ts'
import { sendPage } from '../login/send-page.ts'
import { secondStepPage } from '../web/pages.ts'
import { checkFactor, type FactorAnswer } from './check-factor.ts'
import { advance, auditFactor, STEP_WAY, type StepAttempt, type StepForm } from './complete.ts'
import type { FoundSignIn } from './open-sign-ins.ts'
import { stepPath } from './paths.ts'
import type { SecondStepParts } from './second-step-parts.ts'
import { formModel, sendStepOver } from './send-pages.ts'

/** Completes a sign-in with a code of an authenticator app, or with a recovery code. */
export const BY_SECOND_STEP: WayOfSigningIn<StepForm, StepAttempt, StepAttempt, SignedIn, SecondStepParts> = {
  ...STEP_WAY,
  throttle: { none: '`checkFactor` counts each try, together with those of confirmations.' },
  source: checkCode,
  secondStep: { none: 'This is the second step.' },
}

/** The page that asks for the second step. */
export async function showSecondStep(arrival: Arrival, { open }: FoundSignIn, parts: SecondStepParts): Promise<void> {
  send(arrival, open.login.username, arrival.url.has('recovery'), null, 200, parts)
}

async function checkCode(attempt: StepAttempt, parts: SecondStepParts): Promise<StepAttempt | Refusal> {
  const { fields, found } = attempt
  const { account, login, methods } = found.open
  const kind = fields.get('recovery') === undefined ? 'totp' : 'recovery-code'
  const answer = await checkFactor(account, { kind, code: fields.get('code') ?? '' }, parts)
  auditFactor(attempt, login, 'second-step', answer.kind === 'right' ? 'ok' : outcomeOf(answer), parts)
  if (answer.kind === 'right') {
    const open = { ...found.open, methods: [...methods, answer.method] }
    return advance({ ...attempt, found: await parts.openSignIns.change(found, open) }, parts)
  }
  if (answer.kind === 'wrong' && (await parts.openSignIns.noteWrong(found)) === 0) {
    return new Refusal({ outcome: 'refused', username: login.username }, () => sendStepOver(attempt))
  }
  return new Refusal(null, () => {
    const { status, text } = refusalOf(attempt, answer)
    send(attempt, login.username, kind === 'recovery-code', text, status, parts)
  })
}

function outcomeOf({ kind }: FactorAnswer): string {
  return kind === 'throttled' ? 'throttled' : 'refused'
}

/** Why a code was not accepted, in the user's language. */
export function refusalOf(
  { ctx, locale }: Pick<Arrival, 'ctx' | 'locale'>,
  answer: Exclude<FactorAnswer, { kind: 'right' }>,
): { readonly status: number; readonly text: string } {
  if (answer.kind !== 'throttled') return { status: 401, text: platformText(locale, `platform.step.${answer.kind}`) }
  ctx.set('Retry-After', String(answer.seconds))
  const minutes = Math.ceil(answer.seconds / 60)
  return { status: 429, text: platformText(locale, 'platform.step.throttled', [minutes]) }
}

function send(
  arrival: Arrival,
  username: string,
  isRecovery: boolean,
  refusal: string | null,
  status: number,
  parts: SecondStepParts,
): void {
  const { name } = arrival.solution
  const form = formModel(arrival, stepPath(name, 'second-step'), parts)
  const model = { ...form, username, isRecovery, cancelHref: `/solution/${name}/index.html`, refusal }
  sendPage(arrival, status, (frame) => secondStepPage(frame, model))
}
