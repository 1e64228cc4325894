import { createAuthenticatorApps } from '../../base/accounts/authenticator-app.ts'
import { createFactors } from '../../base/accounts/factors.ts'
import type { FormTokens } from '../../base/accounts/form-token.ts'
import { createOpenSignIns } from '../../base/accounts/open-sign-ins.ts'
import { createPasskeyRequests } from '../../base/accounts/passkey-requests.ts'
import { createPasskeys } from '../../base/accounts/passkeys.ts'
import type { Passwords } from '../../base/accounts/passwords.ts'
import { createRecoveryCodes } from '../../base/accounts/recovery-codes.ts'
import { createFactorThrottle } from '../../base/accounts/throttle.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { PasskeyPlaces } from '../login/passkey-places.ts'
import { createSecondStepGate } from './gate.ts'
import type { OpenSignIn } from './open-sign-ins.ts'
import type { SignInPolicies } from './policies.ts'
import { createPresses } from './presses.ts'

export type SecondStepNeeds = {
  readonly db: HostDatabase
  readonly key: PlatformKey
  readonly limits: Limits
  readonly passwords: Pick<Passwords, 'run'>
  readonly formTokens: FormTokens
  readonly passkeyPlaces: PasskeyPlaces
  readonly policies: SignInPolicies
  /** Whether other hosts use the same database. For this and `throttles`, see `createThrottle`. */
  readonly isShared: boolean
  readonly throttles?: () => boolean
  /** The clock, in epoch ms. */
  readonly now?: () => number
}

/** Creates the parts that store or check second factors. */
export function createSecondSteps({
  db,
  key,
  limits,
  passwords,
  formTokens,
  passkeyPlaces,
  policies,
  isShared,
  throttles,
  now = Date.now,
}: SecondStepNeeds) {
  const factors = createFactors(db, limits, now)
  const passkeys = createPasskeys(db, key, factors, limits, now)
  const passkeyRequests = createPasskeyRequests({ db, key, passkeys, places: passkeyPlaces, formTokens }, now)
  const openSignIns = createOpenSignIns<OpenSignIn>(db, key, limits, now)
  return {
    factors,
    policies,
    openSignIns,
    passkeyPlaces,
    passkeyRequests,
    secondStep: createSecondStepGate({ factors, policies, openSignIns, passkeyRequests, limits, now }),
    apps: createAuthenticatorApps(db, key, factors, now),
    recoveryCodes: createRecoveryCodes(db, passwords, now),
    factorThrottle: createFactorThrottle(db, limits, isShared, throttles),
    presses: createPresses({ factors, passkeyRequests, limits, key, now }),
    key,
    now,
  }
}
