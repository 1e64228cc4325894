import type { FactorAccount } from '../../base/accounts/factor-account.ts'
import type { Factors } from '../../base/accounts/factors.ts'
import type { MailedCode } from '../../base/accounts/mailed-code.ts'
import type { OpenSignIns } from '../../base/accounts/open-sign-ins.ts'
import { hasSecondStep, type SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import type { User } from '../../base/accounts/users.ts'
import { setCookie } from '../../base/http/cookies.ts'
import type { Limits } from '../../runtime/limits.ts'
import { personsFactors } from '../access/confirmations.ts'
import { cookieScopeOf, REALM } from '../access/page-sessions.ts'
import type { SecondStepGate } from '../accounts/second-step-gate.ts'
import type { Organisations } from '../organisations/organisations.ts'

export const STEP_PATH = '/second-step'
export const SET_UP_PATH = '/second-step/set-up'

/** A sign-in that isn't complete until the second step is done or a factor is set up. */
export type MemberSignIn = {
  readonly account: FactorAccount
  readonly username: string
  /** The page to open after the sign-in. */
  readonly to: string
  readonly methods: readonly SignInMethod[]
  /** When the entered password was set. If the password changes, the sign-in is cancelled. */
  readonly passwordChangedAt: number | null
  /** Whether the user may set up a factor: they have entered the mailed code, or don't need one. */
  readonly isProved: boolean
  readonly code: MailedCode | null
}

export type GateParts = {
  readonly factors: Pick<Factors, 'of'>
  readonly organisations: Pick<Organisations, 'requireSecondFactor'>
  readonly openSignIns: OpenSignIns<MemberSignIn>
  readonly limits: Limits
}

export function createSecondStepGate(parts: GateParts): SecondStepGate {
  const { openSignIns, limits } = parts
  return {
    async begin(ctx, user, { methods, to, isProved = false }) {
      const next = await nextStepOf(user, methods, parts)
      if (next === null) return null
      const { uid, username, passwordChangedAt } = user
      const account = personsFactors(uid)
      const cookie = await openSignIns.start(REALM, {
        account,
        username,
        to,
        methods,
        passwordChangedAt,
        isProved,
        code: null,
      })
      setCookie(ctx, 'step', cookieScopeOf(ctx), cookie, limits.SECOND_STEP_TIME)
      return next
    },
  }
}

/**
 * The next page that a sign-in needs before it is complete; null if there is none. Users who must change their password
 * set up a factor during the following sign-in.
 */
export async function nextStepOf(
  user: Pick<User, 'uid' | 'mustChangePassword'>,
  methods: readonly SignInMethod[],
  { factors, organisations }: Pick<GateParts, 'factors' | 'organisations'>,
): Promise<typeof STEP_PATH | typeof SET_UP_PATH | null> {
  const own = await factors.of(personsFactors(user.uid))
  if (own.factors.length > 0) return hasSecondStep(methods) ? null : STEP_PATH
  if (user.mustChangePassword) return null
  return (await organisations.requireSecondFactor(user.uid)) ? SET_UP_PATH : null
}
