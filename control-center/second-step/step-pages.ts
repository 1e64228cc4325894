import type Router from '@koa/router'
import type { Context } from 'koa'
import { checkForm, refusalOf } from '../../base/accounts/check-factor.ts'
import { Refusal, walkSignIn } from '../../base/accounts/sign-in-steps.ts'
import { waysOf } from '../../base/accounts/usable-factors.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { passkeyScript } from '../../base/web/pages.ts'
import { passkeyPageOf } from '../accounts/passkey-page.ts'
import { localeOf, sendPage, textFor } from '../pages/page.ts'
import { findOpen, formModel, noteAnswer, STEP_WAY, type StepAttempt, type StepWay, showOver } from './complete.ts'
import { type MemberSignIn, SET_UP_PATH, STEP_PATH } from './gate.ts'
import type { SecondStepParts } from './parts.ts'
import { BY_CENTER_SET_UP, showSetUp } from './set-up.ts'

/** Completes a sign-in with a passkey, a code from an authenticator app, or a recovery code. */
export const BY_CENTER_SECOND_STEP: StepWay = {
  ...STEP_WAY,
  throttle: {
    none: '`checkFactor` counts the attempts. They share a counter with attempts to confirm an action.',
  },
  source: checkStep,
  secondStep: { none: 'This is the second step.' },
}

/** The pages of sign-ins whose password was correct. */
export function addStepPages(router: Router, parts: SecondStepParts): void {
  router.get(STEP_PATH, async (ctx) => {
    requireNavigation(ctx)
    const found = await findOpen(ctx, parts)
    if (found === null) return showOver(ctx)
    await send(ctx, found.open, { isRecovery: Object.hasOwn(ctx.query, 'recovery'), refusal: null }, 200, parts)
  })

  router.get(SET_UP_PATH, async (ctx) => {
    requireNavigation(ctx)
    const found = await findOpen(ctx, parts)
    if (found === null) return showOver(ctx)
    await showSetUp(ctx, found, parts)
  })

  router.post(STEP_PATH, (ctx) => walkSignIn(BY_CENTER_SECOND_STEP, ctx, parts))
  router.post(SET_UP_PATH, (ctx) => walkSignIn(BY_CENTER_SET_UP, ctx, parts))
}

async function checkStep(attempt: StepAttempt, parts: SecondStepParts): Promise<StepAttempt | Refusal> {
  const { ctx, fields, found } = attempt
  const { account, username, methods } = found.open
  const answer = await checkForm(passkeyPageOf(ctx), 'second-step', account, fields, parts)
  await noteAnswer(ctx, username, 'second-step', fields, answer, parts)
  if (answer.kind === 'right') {
    const open = { ...found.open, methods: [...methods, answer.method] }
    return { ...attempt, found: await parts.openSignIns.change(found, open) }
  }
  const isWrong = answer.kind !== 'throttled' && answer.kind !== 'locked'
  if (isWrong && (await parts.openSignIns.noteWrong(found)) === 0) {
    return new Refusal({ outcome: 'refused', username }, () => showOver(ctx))
  }
  return new Refusal(null, () => {
    const { status, text: refusal } = refusalOf({ ctx, locale: localeOf(ctx) }, answer)
    return send(ctx, found.open, { isRecovery: fields.has('recovery'), refusal }, status, parts)
  })
}

async function send(
  ctx: Context,
  { account, username }: MemberSignIn,
  shown: { readonly isRecovery: boolean; readonly refusal: string | null },
  status: number,
  parts: SecondStepParts,
): Promise<void> {
  const ways = await waysOf(passkeyPageOf(ctx), 'second-step', account, parts)
  const form = formModel(STEP_PATH, '')
  const model = { ...form, ...shown, ways, username, cancelHref: '/sign-in', passkeyScript }
  sendPage(ctx, { template: 'second-step', heading: textFor(ctx)('platform.step.title'), model, status }, null)
}
