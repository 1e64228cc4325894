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
 * The number of emails that have been sent since `hour` (the start of the hour, in epoch ms). `asked_by` has the same
 * values as in `MailOrigin`.
 */
export type MailCountRow = { organisation: string; asked_by: string; hour: number; count: number }

/** The mail tables of both services. A control center's database also has the host's tables, which it doesn't use. */
export type MailTables = {
  mails: MailRow
  mail_counts: MailCountRow
  host_mails: MailRow
  host_mail_counts: MailCountRow
}

export type MailDatabase = Kysely<MailTables>

/** The service that sends emails: its tables and its messages. */
export type MailService = {
  readonly mails: 'mails' | 'host_mails'
  readonly counts: 'mail_counts' | 'host_mail_counts'
  /** The sender's name at the start of a sentence, such as "The organisation". */
  readonly sender: string
  /** A sentence about where to find out why the mail server rejects emails. */
  readonly ifWaiting: string
  /** What else the user can do when `MAILS_HOURLY` is used up, as the end of a sentence. */
  readonly ifUsedUp: string
  /** The log line that reports that `MAILS_HOURLY` is used up. */
  readonly usedUp: string
}
