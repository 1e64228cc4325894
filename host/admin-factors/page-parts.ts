import type { FactorParts } from '../../base/accounts/check-factor.ts'
import type { OpenSignIns } from '../../base/accounts/open-sign-ins.ts'
import type { PasskeyRequests } from '../../base/accounts/passkey-requests.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../access/audit.ts'
import type { AdminCredentials } from '../access/credentials.ts'
import type { PageSessions } from '../access/page-sessions.ts'
import type { Settings } from '../config/settings.ts'
import type { AdminFactors, AdminSignIn } from './admin-factors.ts'

/** Dependencies of the pages for the admin account's factors. */
export type AdminFactorPageParts = Omit<FactorParts, 'passkeyRequests'> & {
  /** Passkey requests for the origin of the admin pages. No solution uses this origin. */
  readonly adminPasskeys: PasskeyRequests
  readonly adminFactors: AdminFactors
  readonly adminOpenSignIns: OpenSignIns<AdminSignIn>
  readonly pageSessions: PageSessions
  readonly credentials: AdminCredentials
  readonly settings: Pick<Settings, 'adminName'>
  readonly audit: Audit
  readonly key: PlatformKey
  readonly limits: Limits
  /** Returns the current time, in epoch ms. */
  readonly now: () => number
}
