import type { Context } from 'koa'
import { Refusal, type WayOfSigningIn, walkSignIn } from '../../base/accounts/sign-in-steps.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { readCookies } from '../../base/http/cookies.ts'
import { readForm, readQuery } from '../../base/http/read-body.ts'
import { platformText } from '../../base/web/texts.ts'
import { type Arrival, readArrival } from '../login/arrival.ts'
import { redirectSignedIn, type SignedIn } from '../login/redirect-signed-in.ts'
import { auditSignIn } from '../login/start-session.ts'
import { secondStepPage } from '../web/pages.ts'
import { checkFactor, type FactorAnswer } from './check-factor.ts'
import { advance, auditFactor, complete, findOpen, type StepAttempt, type StepForm } from './complete.ts'
import { stepPath } from './gate.ts'
import { sendPage, sendStepOver } from './send-pages.ts'
import type { SecondStepParts } from './second-step-parts.ts'

/** Completes a sign-in with a code of an authenticator app, or with a recovery code. */
export const BY_SECOND_STEP: WayOfSigningIn<StepForm, StepAttempt, StepAttempt, SignedIn, SecondStepParts> = {
  ownPage: findOpen,
  throttle: { none: '`checkFactor` counts each try, together with those of confirmations.' },
  source: checkCode,
  secondStep: { none: 'This is the second step.' },
  accept: (_attempt, done, parts) => complete(done, parts),
  audit: auditSignIn,
  redirect: redirectSignedIn,
}

/** The page that asks for the second step. */
export async function showSecondStep(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  parts: SecondStepParts,
): Promise<void> {
  const arrival = readArrival(ctx, solution, locale, parts.sites)
  const found = await parts.openSignIns.find(solution.name, readCookies(ctx, 'step', arrival.scope))
  if (found === null) return sendStepOver(arrival)
  send(arrival, found.open.login.username, readQuery(ctx).has('recovery'), null, 200, parts)
}

export async function submitSecondStep(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  parts: SecondStepParts,
): Promise<void> {
  const fields = await readForm(ctx, parts.limits)
  await walkSignIn(BY_SECOND_STEP, { ...readArrival(ctx, solution, locale, parts.sites), fields }, parts)
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
  { formTokens }: SecondStepParts,
): void {
  const { ctx, solution, scope } = arrival
  const action = stepPath(solution.name, 'second-step')
  const formToken = formTokens.issue(ctx, scope)
  const cancelHref = `/solution/${solution.name}/index.html`
  const { title } = solution.manifest
  const model = { solution: { title }, username, isRecovery, action, formToken, cancelHref, refusal }
  sendPage(arrival, status, (frame) => secondStepPage(frame, model))
}
