import type { Kysely } from 'kysely'

/**
 * A queued email, stored so that a restart loses none. `sealed` is its content, encrypted because its links grant
 * access. `next_at` is the time of the next attempt. `organisation` is the id of the control center's organisation that
 * the email is sent for, or '' for the service itself.
 */
export type MailRow = {
  id: string
  organisation: string
  sealed: string
  created_at: number
  next_at: number
  attempts: number
}

/**
 * The number of emails sent in the hour that starts at `hour` (epoch ms). `asked_by` has the same values as in
 * `MailOrigin`.
 */
export type MailCountRow = { organisation: string; asked_by: string; hour: number; count: number }

/**
 * The mail tables of hosts and control centers. A control center's database also has the host's tables, which it
 * doesn't use.
 */
export type MailTables = {
  mails: MailRow
  mail_counts: MailCountRow
  host_mails: MailRow
  host_mail_counts: MailCountRow
}

export type MailDatabase = Kysely<MailTables>

/** The mail tables of a service, and the messages that differ between the services. */
export type MailService = {
  readonly mails: 'mails' | 'host_mails'
  readonly counts: 'mail_counts' | 'host_mail_counts'
  /** The sender's name at the start of a sentence, such as "The organisation". */
  readonly sender: string
  /** A sentence that says where to find out why the mail server rejects emails. */
  readonly ifWaiting: string
  /** The end of a sentence that says what users can do instead once the limit `MAILS_HOURLY` is exhausted. */
  readonly ifUsedUp: string
  /** The log line for an exhausted `MAILS_HOURLY` limit. */
  readonly usedUp: string
}
