import type { Logger } from 'pino'
import type { Users } from '../../base/accounts/users.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Mail } from '../../base/mail/mail.ts'
import type { Audit } from '../access/audit.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { LinkedUsers } from '../links/linked-users.ts'
import { createLinks } from '../links/links.ts'
import { createSendLinks } from '../links/send-links.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { createForgottenPasswords } from './forgotten-passwords.ts'
import { createOperatorLinks } from './operator-links.ts'

export type SelfServiceNeeds = {
  readonly db: HostDatabase
  readonly users: Users
  readonly linkedUsers: LinkedUsers
  readonly mail: Mail
  readonly sites: Sites
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly audit: Audit
  readonly log: Logger
  readonly defaultSolution: () => Promise<string | null>
  /** The clock, in epoch ms. */
  readonly now?: () => number
}

/** Creates the parts for links that users request or operators create. */
export function createSelfService(needs: SelfServiceNeeds) {
  const { db, users, linkedUsers, mail, sites, store, catalog, audit, log, defaultSolution, now } = needs
  const links = createLinks(db, users, now)
  const sendLinks = createSendLinks({ links, mail, sites })
  return {
    links,
    sendLinks,
    operatorLinks: createOperatorLinks({ sendLinks, mail, store, catalog, defaultSolution }),
    forgottenPasswords: createForgottenPasswords({ linkedUsers, sendLinks, audit, log }),
  }
}
