import type { FormTokens } from '../../base/accounts/form-token.ts'
import type { KnownBrowsers } from '../../base/accounts/known-browser.ts'
import type { Notices } from '../../base/accounts/notices.ts'
import type { Throttle } from '../../base/accounts/throttle.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Mail } from '../../base/mail/mail.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../access/audit.ts'
import type { LinkedUsers } from '../links/linked-users.ts'
import type { Links } from '../links/links.ts'
import type { Maintenance } from '../maintenance/maintenance.ts'
import type { ForgottenPasswords } from './forgotten-passwords.ts'

/** Dependencies shared by the pages for users who can't sign in, or who opened a link. */
export type SelfServiceParts = {
  readonly mail: Pick<Mail, 'isSetUp'>
  readonly links: Links
  readonly linkedUsers: LinkedUsers
  readonly notices: Notices
  readonly forgottenPasswords: ForgottenPasswords
  readonly audit: Audit
  readonly throttle: Throttle
  readonly knownBrowsers: KnownBrowsers
  readonly formTokens: FormTokens
  readonly maintenance: Maintenance
  readonly sites: Sites
  readonly limits: Limits
}
