import type { FactorParts } from '../../base/accounts/check-factor.ts'
import type { KnownBrowsers } from '../../base/accounts/known-browser.ts'
import type { Throttle } from '../../base/accounts/throttle.ts'
import type { Users } from '../../base/accounts/users.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Mail } from '../../base/mail/mail.ts'
import type { Links } from '../links/links.ts'
import type { SendLinks } from '../links/send-links.ts'
import type { AccountSources } from '../login/account-sources.ts'
import type { ChangePasswordPages } from '../login/change-password.ts'
import type { SessionParts } from '../login/start-session.ts'
import type { GateParts } from './gate.ts'

/** Dependencies shared by the pages for the second step, the set-up and the account. */
export type SecondStepParts = FactorParts &
  Omit<GateParts, 'passkeyRequests'> &
  SessionParts & {
    readonly key: PlatformKey
    readonly sites: Sites
    readonly users: Users
    readonly throttle: Throttle
    readonly knownBrowsers: KnownBrowsers
    readonly accountSources: AccountSources
    readonly changePassword: ChangePasswordPages
    readonly mail: Pick<Mail, 'isSetUp' | 'send'>
    readonly links: Pick<Links, 'find' | 'take'>
    readonly sendLinks: Pick<SendLinks, 'fromUser'>
  }
