import { factorAccount } from '../../base/accounts/factor-account.ts'
import type { Factors } from '../../base/accounts/factors.ts'
import type { PasskeyRequests } from '../../base/accounts/passkey-requests.ts'
import { Refusal } from '../../base/accounts/sign-in-steps.ts'
import { usableFactors } from '../../base/accounts/usable-factors.ts'
import { setCookie } from '../../base/http/cookies.ts'
import { goTo } from '../../base/http/go-to.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Asking } from '../login/arrival.ts'
import type { SecondStepGate } from '../login/second-step-gate.ts'
import type { OpenSignIn, OpenSignIns } from './open-sign-ins.ts'
import { stepPath } from './paths.ts'
import type { SignInPolicies } from './policies.ts'
import { type NextStep, nextStep } from './policy.ts'

export type GateParts = {
  readonly factors: Factors
  readonly openSignIns: OpenSignIns
  readonly policies: Pick<SignInPolicies, 'policyFor'>
  readonly passkeyRequests: Pick<PasskeyRequests, 'places'>
  readonly limits: Limits
  /** The clock, in epoch ms. */
  readonly now: () => number
}

/** Creates the gate that every sign-in passes before its session starts. */
export function createSecondStepGate(parts: GateParts): SecondStepGate {
  const { openSignIns, limits } = parts
  return {
    async check(arrival, first) {
      const { ctx, solution, scope } = arrival
      const open = { ...first, isPostponed: false }
      const next = await nextStepOf(arrival, open, parts)
      // Users who must change their password do so before they set up a factor. They then sign in again.
      if (next.step === 'done' || (next.step === 'set-up' && first.password?.mustChangePassword)) return null
      const cookie = await openSignIns.start(solution.name, open)
      return new Refusal(null, () => {
        setCookie(ctx, 'step', scope, cookie, limits.SECOND_STEP_TIME)
        goTo(ctx, stepPath(solution.name, next.step))
      })
    },
    async allowsAgain(asking, { factorsOf, methods }, { login, effects }) {
      const account = factorAccount(factorsOf, asking.solution.name, login.uid)
      const isRaised = effects.needsSecondFactor === true
      // During the grace period, users without a factor can be remembered.
      const next = await nextStepOf(asking, { account, login, methods, isRaised, isPostponed: true }, parts)
      return next.step === 'done'
    },
  }
}

type Progress = Pick<OpenSignIn, 'account' | 'login' | 'methods' | 'isRaised' | 'isPostponed'>

/** The steps that the sign-in still needs under the current policy. */
export async function nextStepOf(
  { solution, serverUrl }: Pick<Asking, 'solution' | 'serverUrl'>,
  { account, login, methods, isRaised, isPostponed }: Progress,
  parts: Pick<GateParts, 'factors' | 'policies' | 'passkeyRequests' | 'now'>,
): Promise<NextStep> {
  const policy = await parts.policies.policyFor(solution)
  if (policy.level === 'off' && !isRaised) return { step: 'done' }
  const set = await parts.factors.of(account)
  const factors = usableFactors(set, serverUrl, parts)
  const { firstAskedAt } = set
  const state = { permissions: login.permissions, methods, factors, isRaised, firstAskedAt, isPostponed }
  return nextStep(policy, state, parts.now())
}
