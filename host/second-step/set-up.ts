import { renderSVG } from 'uqr'
import { accountId } from '../../base/accounts/factor-account.ts'
import { Refusal, type WayOfSigningIn } from '../../base/accounts/sign-in-steps.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { platformText } from '../../base/web/texts.ts'
import type { Arrival } from '../login/arrival.ts'
import { goTo, type SignedIn } from '../login/redirect-signed-in.ts'
import { sendPage } from '../login/send-page.ts'
import { type NewApp, recoveryCodesPage, setUpPage } from '../web/pages.ts'
import { advance, auditFactor, endOthers, STEP_WAY, type StepAttempt, type StepForm } from './complete.ts'
import { nextStepOf } from './gate.ts'
import type { FoundSignIn, OpenSignIn } from './open-sign-ins.ts'
import { stepPath } from './paths.ts'
import type { SecondStepParts } from './second-step-parts.ts'
import { formModel } from './send-pages.ts'

/** Completes a sign-in for which the user set up a factor, or postponed that. */
export const BY_SET_UP: WayOfSigningIn<StepForm, StepAttempt, StepAttempt, SignedIn, SecondStepParts> = {
  ...STEP_WAY,
  throttle: { none: 'The user has passed the first step, and knows the secret that the code belongs to.' },
  source: setUp,
  secondStep: { none: 'It has been done, or the user has no factor yet.' },
}

/** The page on which users set up a factor, because the solution requires one. */
export async function showSetUp(arrival: Arrival, { open }: FoundSignIn, parts: SecondStepParts): Promise<void> {
  const { ctx, solution } = arrival
  const next = await nextStepOf(solution, open, parts)
  // With a factor that was set up in another tab, the user continues there or signs in again.
  if (next.step !== 'set-up') return goTo(ctx, stepPath(solution.name, 'second-step'))
  await parts.factors.noteAsked(open.account)
  send(arrival, open, { secret: parts.apps.newSecret(), canPostpone: next.canPostpone, refusal: null }, 200, parts)
}

function setUp(attempt: StepAttempt, parts: SecondStepParts): Promise<StepAttempt | Refusal> {
  const act = attempt.fields.get('act')
  if (act === 'later') return postpone(attempt, parts)
  return act === 'saved' ? advance(attempt, parts) : addApp(attempt, parts)
}

async function postpone(attempt: StepAttempt, parts: SecondStepParts): Promise<StepAttempt | Refusal> {
  const open = { ...attempt.found.open, isPostponed: true }
  return advance({ ...attempt, found: await parts.openSignIns.change(attempt.found, open) }, parts)
}

async function addApp(attempt: StepAttempt, parts: SecondStepParts): Promise<Refusal> {
  const { ctx, solution, locale, fields, found } = attempt
  const { account, login, methods } = found.open
  const next = await nextStepOf(solution, found.open, parts)
  const secret = readSetUpSecret(account, fields.get('setup') ?? '', parts)
  if (secret === null || next.step !== 'set-up') {
    return new Refusal(null, () => goTo(ctx, stepPath(solution.name, 'set-up')))
  }
  const name = platformText(locale, 'platform.factor.app')
  const added = await parts.apps.add(account, secret, fields.get('code') ?? '', name)
  if (added === 'wrong') {
    const refusal = platformText(locale, 'platform.step.wrong')
    return new Refusal(null, () =>
      send(attempt, found.open, { secret, canPostpone: next.canPostpone, refusal }, 401, parts),
    )
  }
  if (added === 'taken') return new Refusal(null, () => goTo(ctx, stepPath(solution.name, 'second-step')))
  auditFactor(attempt, login, 'factor-add', 'ok', parts)
  await endOthers(account, null, parts)
  await parts.openSignIns.change(found, { ...found.open, methods: [...methods, 'totp'] })
  const codes = await parts.recoveryCodes.renew(account)
  return new Refusal(null, () => {
    const model = { ...formModel(attempt, stepPath(solution.name, 'set-up'), parts), codes }
    sendPage(attempt, 200, (frame) => recoveryCodesPage(frame, model))
  })
}

/** In ms: how long a page for the set-up can be used. */
const SET_UP_TIME = 30 * 60_000

/**
 * The secret of a new app, as a hidden field of its page. Only the account for which it was made can use it, so that a
 * stranger can't have a user enrol the stranger's secret.
 */
function writeSetUpSecret(
  account: OpenSignIn['account'],
  secret: string,
  { key, now }: Pick<SecondStepParts, 'key' | 'now'>,
): string {
  return key.encrypt(`set-up ${accountId(account)}`, JSON.stringify([secret, now() + SET_UP_TIME]))
}

/** @returns null if the field is not ours, is of another account or has expired */
export function readSetUpSecret(
  account: OpenSignIn['account'],
  field: string,
  { key, now }: Pick<SecondStepParts, 'key' | 'now'>,
): string | null {
  const text = key.decrypt(`set-up ${accountId(account)}`, field)
  if (text === null) return null
  const [secret, expiresAt] = JSON.parse(text) as [string, number]
  return expiresAt > now() ? secret : null
}

/** What the page of a new app shows. */
export function newAppOf(
  solution: ActiveSolution,
  { account, login }: Pick<FoundSignIn['open'], 'account' | 'login'>,
  secret: string,
  parts: Pick<SecondStepParts, 'key' | 'now' | 'apps'>,
): NewApp {
  const address = parts.apps.addressOf(secret, { issuer: solution.manifest.title, username: login.username })
  return {
    setup: writeSetUpSecret(account, secret, parts),
    // In groups of four, which are easier to type.
    secret: secret.replace(/(.{4})(?=.)/g, '$1 '),
    qrCode: renderSVG(address, { border: 2 }),
    address,
  }
}

function send(
  arrival: Arrival,
  open: OpenSignIn,
  shown: { readonly secret: string; readonly canPostpone: boolean; readonly refusal: string | null },
  status: number,
  parts: SecondStepParts,
): void {
  const { solution } = arrival
  const { secret, canPostpone, refusal } = shown
  const form = formModel(arrival, stepPath(solution.name, 'set-up'), parts)
  const model = { ...form, app: newAppOf(solution, open, secret, parts), canPostpone, refusal }
  sendPage(arrival, status, (frame) => setUpPage(frame, model))
}
