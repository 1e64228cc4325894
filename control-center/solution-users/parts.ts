import type { Logger } from 'pino'
import type { Passwords } from '../../base/accounts/passwords.ts'
import { createThrottle, type Throttle } from '../../base/accounts/throttle.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Mail } from '../../base/mail/mail.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { CenterDatabase } from '../database/tables.ts'
import { createLoginPages, type LoginPages } from '../login-pages/login-pages.ts'
import type { Organisations } from '../organisations/organisations.ts'
import { createForgotAddress, type ForgotAddress } from './forgot-address.ts'
import { createKnownSolutions, type KnownSolutions } from './known-solutions.ts'
import { createPasswordRequests, type PasswordRequests } from './password-requests.ts'
import { createSolutionRoles, type SolutionRoles } from './roles.ts'
import { createSendLinks, type SendLinks } from './send-links.ts'
import { createSolutionUsers, type SolutionUsers } from './solution-users.ts'
import { createUserLinks, type UserLinks } from './user-links.ts'

/** The parts of PLATFORM_CLOUD: solutions' users, roles and login pages. */
export type CloudParts = {
  readonly knownSolutions: KnownSolutions
  readonly solutionUsers: SolutionUsers
  readonly solutionRoles: SolutionRoles
  readonly userLinks: UserLinks
  readonly sendLinks: SendLinks
  readonly passwordRequests: PasswordRequests
  readonly loginPages: LoginPages
  readonly forgotAddress: ForgotAddress
  readonly satelliteThrottle: Throttle
}

export type CloudNeeds = {
  readonly db: CenterDatabase
  readonly key: PlatformKey
  readonly passwords: Passwords
  readonly limits: Limits
  readonly mail: Mail
  readonly organisations: Organisations
  readonly log: Logger
  /** Whether other nodes use the same database. */
  readonly isShared: boolean
}

/**
 * Failed attempts per Satellite in THROTTLE_WINDOW, as a multiple of THROTTLE_NETWORK. Chosen here: a Satellite can
 * report any client address, so the total number of its attempts needs a limit. This limit is so high that any single
 * network reaches the limit for networks first.
 */
const NETWORKS_OF_SATELLITE = 20

export function createCloudParts({
  db,
  key,
  passwords,
  limits,
  mail,
  organisations,
  log,
  isShared,
}: CloudNeeds): CloudParts {
  const solutionUsers = createSolutionUsers(db, passwords, limits)
  const userLinks = createUserLinks(db, passwords)
  const sendLinks = createSendLinks(userLinks, mail)
  const ofSatellite = { ...limits, THROTTLE_NETWORK: limits.THROTTLE_NETWORK * NETWORKS_OF_SATELLITE }
  return {
    knownSolutions: createKnownSolutions(db),
    solutionUsers,
    solutionRoles: createSolutionRoles(db),
    userLinks,
    sendLinks,
    passwordRequests: createPasswordRequests(organisations, solutionUsers, sendLinks, log),
    loginPages: createLoginPages(db),
    forgotAddress: createForgotAddress(key),
    satelliteThrottle: createThrottle(db, ofSatellite, isShared),
  }
}
