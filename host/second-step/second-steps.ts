import { createAuthenticatorApps } from '../../base/accounts/authenticator-app.ts'
import { createFactors } from '../../base/accounts/factors.ts'
import type { Passwords } from '../../base/accounts/passwords.ts'
import { createRecoveryCodes } from '../../base/accounts/recovery-codes.ts'
import { createFactorThrottle } from '../../base/accounts/throttle.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { HostDatabase } from '../database/tables.ts'
import { createSecondStepGate } from './gate.ts'
import { createOpenSignIns } from './open-sign-ins.ts'
import { createSignInPolicies } from './policies.ts'

export type SecondStepNeeds = {
  readonly db: HostDatabase
  readonly key: PlatformKey
  readonly limits: Limits
  readonly passwords: Pick<Passwords, 'run'>
  /** Whether other hosts use the same database; see `createThrottle`, also for `throttles`. */
  readonly isShared: boolean
  readonly throttles?: () => boolean
  /** The clock, in epoch ms. */
  readonly now?: () => number
}

/** Everything that stores or checks second factors. */
export function createSecondSteps({
  db,
  key,
  limits,
  passwords,
  isShared,
  throttles,
  now = Date.now,
}: SecondStepNeeds) {
  const factors = createFactors(db, limits, now)
  const policies = createSignInPolicies(db, now)
  const openSignIns = createOpenSignIns(db, key, limits, now)
  return {
    factors,
    policies,
    openSignIns,
    secondStep: createSecondStepGate({ factors, policies, openSignIns, limits, now }),
    apps: createAuthenticatorApps(db, key, factors, now),
    recoveryCodes: createRecoveryCodes(db, passwords, now),
    factorThrottle: createFactorThrottle(db, limits, isShared, throttles),
    key,
    now,
  }
}
