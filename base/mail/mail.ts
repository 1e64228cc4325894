import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { PlatformError } from '../../runtime/errors.ts'
import { MAILS_HOURLY } from '../config/mail-settings.ts'
import type { PlatformKey } from '../config/platform-key.ts'
import type { Database } from '../database/open.ts'
import { createDueMails } from './due-mails.ts'
import type { HandedOver, MailText } from './hand-over.ts'
import { createMailShares, type MailOrigin } from './mail-shares.ts'
import type { MailRow, MailService, MailTables } from './tables.ts'

/** Sends a service's emails: invitations, password reset links, confirmations and notices. */
export interface Mail {
  /** Whether `SMTP_URL` is set. If not, links are shown instead of mailed. */
  readonly isSetUp: boolean
  /**
   * Resolves when the email is stored in the database. The email is sent from there, and retried for three days.
   * @param origin who the email is sent for; by default, the service itself
   * @throws ERR_MAIL_UNAVAILABLE if no mail server is configured, or too many emails are queued
   * @throws ERR_THROTTLED under the same conditions as `needShare`
   */
  send(mail: MailText, origin?: MailOrigin): Promise<void>
  /**
   * Call this before creating something that is useless unless an email about it is sent.
   * @throws ERR_THROTTLED if too many emails from this origin are queued, or it has sent too many in this hour
   */
  needShare(origin: MailOrigin): Promise<void>
}

export type MailQueue = Mail & {
  /** Sends the emails that are due now. Resolves when each has been attempted once. */
  deliverDue(): Promise<void>
  /**
   * Starts sending in the background.
   * @returns a function that stops sending and waits for the emails in progress
   */
  start(): () => Promise<void>
}

/** Maximum queued emails of a service; further emails are rejected. */
const MOST_WAITING = 10_000
const AT_ONCE = 4
/**
 * Retry delays in ms. The first delay doubles with each attempt, up to the longest. After `GIVEN_UP`, the email is
 * dropped, with a log line.
 */
const FIRST_WAIT = 10_000
const LONGEST_WAIT = 3_600_000
const GIVEN_UP = 3 * 24 * 3_600_000
/** Polling interval in ms, for finding emails that other nodes queued, or left unsent when they crashed. */
const LOOK_EVERY = 30_000

export type MailParts = {
  readonly db: Database
  readonly service: MailService
  readonly key: PlatformKey
  /** Hands an email to the mail server; null if no mail server is configured. */
  readonly handOver: ((mail: MailText) => Promise<HandedOver>) | null
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** The value of `MAILS_HOURLY`. If absent, the property's default applies. */
  readonly hourly?: number | undefined
}

/** @param now returns the current time in epoch milliseconds */
export function createMail(parts: MailParts, now: () => number = Date.now): MailQueue {
  const { service, key, handOver, log, hourly = MAILS_HOURLY } = parts
  const db = parts.db.$extendTables<MailTables>()
  const table = service.mails
  const shares = createMailShares(db, service, log, hourly, now)
  const due = createDueMails(db, service)
  /** Up to `AT_ONCE` senders. Each sends emails sequentially until none is due. */
  const senders = new Set<Promise<void>>()
  let senderCount = 0
  /**
   * The number of times that a search for due emails was requested. A sender that notices a new request searches again
   * before it stops.
   */
  let requests = 0
  let isStarted = false
  let isStopped = false
  let timer: NodeJS.Timeout | undefined

  const purposeOf = (id: string) => `mail ${id}`

  /** @param row an email that this node has reserved */
  async function sendOne(row: MailRow, deliver: NonNullable<typeof handOver>): Promise<void> {
    const { id, attempts, created_at } = row
    const text = key.decrypt(purposeOf(id), row.sealed)
    const end = text === null ? unreadable : await deliver(JSON.parse(text) as MailText)
    if (end.outcome === 'sent') return due.remove(row)
    const isOver = end.outcome === 'refused' || now() - created_at >= GIVEN_UP
    if (isOver) {
      log.error({ mail: id, reason: end.reason }, 'an email could not be sent and was dropped')
      return due.remove(row)
    }
    const wait = Math.min(FIRST_WAIT * 2 ** Math.min(attempts, 20), LONGEST_WAIT)
    log.warn({ mail: id, reason: end.reason, wait }, 'an email could not be sent and will be retried')
    await due.retry(row, now() + wait)
  }

  async function sendAllDue(deliver: NonNullable<typeof handOver>): Promise<void> {
    try {
      // After a stop, the remaining emails stay in the database until the service starts again.
      while (!isStopped) {
        const seen = requests
        const row = await due.take(now())
        if (row !== undefined) {
          startSender()
          await sendOne(row, deliver)
        } else if (seen === requests) return
      }
    } finally {
      // Decrement in the same tick as the last check for new requests, so that a later request starts a new sender.
      senderCount--
    }
  }

  /**
   * Starts another sender, unless there are enough. With several senders, an email that the mail server is slow to
   * accept delays only one of them.
   */
  function startSender(): void {
    if (handOver === null || senderCount >= AT_ONCE) return
    senderCount++
    const sender = sendAllDue(handOver)
      .catch((error: Error) => log.error({ stack: error.stack }, 'waiting emails could not be read from the database'))
      .then(scheduleNext)
      .finally(() => senders.delete(sender))
    senders.add(sender)
  }

  function wake(): void {
    requests++
    startSender()
  }

  async function deliverDue(): Promise<void> {
    wake()
    while (senders.size > 0) await Promise.all(senders)
  }

  /** Ignores database errors, because the next search for due emails will report them. */
  async function scheduleNext(): Promise<void> {
    if (!isStarted) return
    const next = await due.nextAt().catch(() => Number.POSITIVE_INFINITY)
    if (!isStarted) return
    clearTimeout(timer)
    timer = setTimeout(wake, Math.min(Math.max(next - now(), 1_000), LOOK_EVERY))
    timer.unref()
  }

  return {
    isSetUp: handOver !== null,
    deliverDue,
    needShare: (origin) => shares.need(origin),
    async send(mail, origin) {
      if (handOver === null) {
        throw new PlatformError('ERR_MAIL_UNAVAILABLE', 'No mail server is configured. Set SMTP_URL and MAIL_FROM.')
      }
      const { waiting } = await db
        .selectFrom(table)
        .select((of) => of.fn.countAll<number>().as('waiting'))
        .executeTakeFirstOrThrow()
      if (Number(waiting) >= MOST_WAITING) {
        throw new PlatformError(
          'ERR_MAIL_UNAVAILABLE',
          `The email was not sent: ${MOST_WAITING} others are already waiting for the mail server. Check the log, and try again when the mail server accepts emails.`,
        )
      }
      if (origin !== undefined) await shares.take(origin)
      const id = randomUUID()
      const sealed = key.encrypt(purposeOf(id), JSON.stringify(mail))
      const row = {
        id,
        organisation: origin?.organisation ?? '',
        sealed,
        created_at: now(),
        next_at: now(),
        attempts: 0,
      }
      await db.insertInto(table).values(row).execute()
      if (isStarted) wake()
    },
    start() {
      isStarted = true
      isStopped = false
      wake()
      return async () => {
        isStarted = false
        isStopped = true
        clearTimeout(timer)
        await Promise.all(senders)
      }
    },
  }
}

/** Drop the email: the service does not start with a wrong platform key, so the row must have been edited by hand. */
const unreadable: HandedOver = { outcome: 'refused', reason: 'the email cannot be decrypted' }
