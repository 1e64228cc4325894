import type { Logger } from 'pino'
import { createFactors } from '../base/accounts/factors.ts'
import { createNotices, type Notices } from '../base/accounts/notices.ts'
import { openPlatformKey } from '../base/config/platform-key.ts'
import { createHandOver } from '../base/mail/hand-over.ts'
import { createMail } from '../base/mail/mail.ts'
import { createAudit } from './access/audit.ts'
import { personsFactors } from './access/confirmations.ts'
import type { CenterSettings } from './config/settings.ts'
import type { CenterDatabase } from './database/tables.ts'
import { CENTER_MAIL } from './mail/tables.ts'
import { openUsedCenterDatabase } from './migrations/open.ts'
import { accountsOf, needAccount } from './new-password.ts'
import { createOrganisations } from './organisations/organisations.ts'

/**
 * Removes all second factors of an account and ends its sessions. It can be run by anyone with access to the machine.
 * Members of several organisations, and an organisation's only owner, may not have anyone else to ask. The audit log of
 * each of the account's organisations shows the reset. It also works while the control center is running. If mail is
 * set up, the control center mails a notice to the account, either now or when it next starts.
 * @returns whether the account had a second factor
 * @throws ERR_USER_NOT_FOUND, and the errors of `openUsedCenterDatabase`
 */
export async function resetSecondFactor(
  settings: CenterSettings,
  username: string,
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
): Promise<boolean> {
  const db = await openUsedCenterDatabase(settings)
  try {
    const { limits } = settings
    const users = accountsOf(db, limits)
    const user = await needAccount(users, username)
    // If the platform key is wrong, stop before anything is changed.
    const notices = await noticesOf(db, settings, log)
    const factors = createFactors(db, limits)
    const account = personsFactors(user.uid)
    const hadOne = (await factors.of(account)).factors.length > 0
    await factors.reset(account)
    await users.signOut(user.uid)
    const audit = createAudit(db, limits.AUDIT_KEPT)
    const facts = { address: 'machine', correlationId: 'control-center-reset-second-factor' }
    const entry = { actor: 'machine', action: 'factor-reset', outcome: 'ok', target: user.username, ...facts }
    const places = await createOrganisations(db).ofMember(user.uid)
    for (const { id } of places) await audit.record({ ...entry, organisation: id })
    if (places.length === 0) await audit.record(entry)
    if (hadOne) notices?.send('factors', user)
    await notices?.settle()
    return hadOne
  } finally {
    await db.destroy()
  }
}

/** @returns null if no mail server is configured @throws ERR_PLATFORM_KEY */
async function noticesOf(
  db: CenterDatabase,
  { mail, home, platformKey, publicUrl }: CenterSettings,
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
): Promise<Notices | null> {
  if (mail === null) return null
  const key = await openPlatformKey(db, home, platformKey)
  const sender = createMail({ db, service: CENTER_MAIL, key, handOver: createHandOver(mail), log })
  return createNotices(sender, log, publicUrl?.host ?? null)
}
