import { createAuthenticatorApps } from '../../base/accounts/authenticator-app.ts'
import type { FactorParts } from '../../base/accounts/check-factor.ts'
import type { Factors } from '../../base/accounts/factors.ts'
import type { FormTokens } from '../../base/accounts/form-token.ts'
import { noticeChanges } from '../../base/accounts/notice-changes.ts'
import type { Notices } from '../../base/accounts/notices.ts'
import { createOpenSignIns, type OpenSignIns } from '../../base/accounts/open-sign-ins.ts'
import { ownPasskeyPlaces } from '../../base/accounts/passkey-places.ts'
import { createPasskeyRequests } from '../../base/accounts/passkey-requests.ts'
import { createPasskeys } from '../../base/accounts/passkeys.ts'
import type { PasswordTickets } from '../../base/accounts/password-tickets.ts'
import type { Passwords } from '../../base/accounts/passwords.ts'
import { createRecoveryCodes } from '../../base/accounts/recovery-codes.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import { createFactorThrottle } from '../../base/accounts/throttle.ts'
import type { Users } from '../../base/accounts/users.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Mail } from '../../base/mail/mail.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Confirmations } from '../access/confirmations.ts'
import type { PageSessions } from '../access/page-sessions.ts'
import type { Credentials } from '../accounts/credentials.ts'
import type { CenterDatabase } from '../database/tables.ts'
import type { Organisations } from '../organisations/organisations.ts'
import { createSecondStepGate, type MemberSignIn } from './gate.ts'

/** Dependencies shared by the pages for the second step, the set-up, the account and the confirmation. */
export type SecondStepParts = FactorParts & {
  readonly openSignIns: OpenSignIns<MemberSignIn>
  readonly users: Users
  readonly organisations: Pick<Organisations, 'requireSecondFactor'>
  readonly sessions: Pick<Sessions, 'endOfAccount'>
  readonly pageSessions: PageSessions
  readonly credentials: Credentials
  readonly confirmations: Confirmations
  readonly passwordTickets: PasswordTickets
  readonly mail: Pick<Mail, 'isSetUp' | 'send'>
  readonly key: PlatformKey
  readonly limits: Limits
  /** The clock, in epoch ms. */
  readonly now: () => number
}

export type SecondStepNeeds = {
  readonly db: CenterDatabase
  readonly key: PlatformKey
  readonly limits: Limits
  readonly passwords: Pick<Passwords, 'run'>
  readonly formTokens: FormTokens
  readonly factors: Factors
  readonly users: Pick<Users, 'get'>
  readonly organisations: Pick<Organisations, 'requireSecondFactor'>
  readonly notices: Notices
  /** Whether other nodes use the same database; see `createThrottle`. */
  readonly isShared: boolean
  /** The clock, in epoch ms. */
  readonly now?: () => number
}

/** Everything that checks second factors of people who use the control center. */
export function createSecondSteps(needs: SecondStepNeeds) {
  const { db, key, limits, passwords, formTokens, factors, users, organisations, notices, isShared } = needs
  const { now = Date.now } = needs
  const passkeys = createPasskeys(db, key, factors, limits, now)
  // `true`, because the control center's origin serves only its own pages.
  const places = ownPasskeyPlaces(true)
  const openSignIns = createOpenSignIns<MemberSignIn>(db, key, limits, now)
  const parts = {
    factors,
    apps: createAuthenticatorApps(db, key, factors, now),
    recoveryCodes: createRecoveryCodes(db, passwords, now),
    passkeyRequests: createPasskeyRequests({ db, key, passkeys, places, formTokens }, now),
    factorThrottle: createFactorThrottle(db, limits, isShared),
  }
  return {
    ...noticeChanges(parts, { notices, users }),
    openSignIns,
    secondStep: createSecondStepGate({ factors, organisations, openSignIns, limits }),
    key,
    now,
  }
}
