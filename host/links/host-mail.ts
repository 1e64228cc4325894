import type { Logger } from 'pino'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import { createHandOver } from '../../base/mail/hand-over.ts'
import { createMail, type MailQueue } from '../../base/mail/mail.ts'
import type { MailOrigin } from '../../base/mail/mail-shares.ts'
import type { MailService } from '../../base/mail/tables.ts'
import type { Settings } from '../config/settings.ts'
import type { HostDatabase } from '../database/tables.ts'

const HOST_MAIL: MailService = {
  mails: 'host_mails',
  counts: 'host_mail_counts',
  sender: 'This host',
  ifWaiting: 'If the problem persists, check the host’s log to find out why the mail server rejects emails.',
  ifUsedUp: 'raise MAILS_HOURLY',
  usedUp: 'this host has reached its limit of emails per hour (MAILS_HOURLY)',
}

/** Marks emails that an operator or an API token requested. `BY_ANYBODY` marks emails that anyone can request. */
export const BY_OPERATOR: MailOrigin = { organisation: '', askedBy: 'member' }
export const BY_ANYBODY: MailOrigin = { organisation: '', askedBy: 'anybody' }

/**
 * Sends the host's emails. Sends none unless `SOLUTION_ORIGIN` or `PUBLIC_URL` is set. Otherwise, links in emails would
 * depend on request headers, which an attacker can choose.
 */
export function createHostMail(
  { mail, solutionOrigin, publicUrl }: Pick<Settings, 'mail' | 'solutionOrigin' | 'publicUrl'>,
  parts: { readonly db: HostDatabase; readonly key: PlatformKey; readonly log: Logger },
): MailQueue {
  const hasAddress = solutionOrigin !== null || publicUrl !== null
  const handOver = mail !== null && hasAddress ? createHandOver(mail) : null
  return createMail({ ...parts, service: HOST_MAIL, handOver, hourly: mail?.hourly })
}
