import { firstRows } from '../database/portable.ts'
import { HAND_OVER_TIME } from './hand-over.ts'
import type { MailDatabase, MailRow, MailService } from './tables.ts'

/** How long an email stays reserved for the node that is sending it, in ms. */
const TAKEN = 2 * HAND_OVER_TIME

/** The emails in the database that are waiting to be sent. Times are in epoch ms. */
export interface DueMails {
  /**
   * Reserves the next email to send: the oldest one from the next organisation. The organisations take turns, so that
   * one with many emails doesn't delay the others.
   * @returns undefined if no email is due
   */
  take(now: number): Promise<MailRow | undefined>
  /** When the next email is due; `Infinity` if none is queued. */
  nextAt(): Promise<number>
  retry(mail: MailRow, at: number): Promise<void>
  remove(mail: MailRow): Promise<void>
}

export function createDueMails(db: MailDatabase, { mails: table }: MailService): DueMails {
  /** The organisation whose email was reserved last. */
  let last = ''
  let searching: Promise<MailRow | undefined> = Promise.resolve(undefined)

  async function next(now: number): Promise<MailRow | undefined> {
    const due = await db.selectFrom(table).select('organisation').distinct().where('next_at', '<=', now).execute()
    const organisations = due.map(({ organisation }) => organisation).sort()
    const organisation = organisations.find((name) => name > last) ?? organisations[0]
    if (organisation === undefined) return undefined
    last = organisation
    const mails = db.selectFrom(table).selectAll().where('organisation', '=', organisation)
    return firstRows(db, mails.where('next_at', '<=', now).orderBy('next_at'), 1).executeTakeFirst()
  }

  /** @returns false if another node has reserved the email */
  async function reserve({ id, next_at }: MailRow, now: number): Promise<boolean> {
    const mail = db.updateTable(table).where('id', '=', id).where('next_at', '=', next_at)
    return (await mail.set({ next_at: now + TAKEN }).executeTakeFirst()).numUpdatedRows > 0n
  }

  return {
    take(now) {
      async function search(): Promise<MailRow | undefined> {
        for (;;) {
          const mail = await next(now)
          if (mail === undefined || (await reserve(mail, now))) return mail
        }
      }
      // Run one search at a time, so that the organisations take turns and two searches never find the same email.
      searching = searching.then(search, search)
      return searching
    },
    async nextAt() {
      const query = db.selectFrom(table).select('next_at').orderBy('next_at')
      return (await firstRows(db, query, 1).executeTakeFirst())?.next_at ?? Number.POSITIVE_INFINITY
    },
    async retry({ id, attempts }, at) {
      const mail = db.updateTable(table).where('id', '=', id)
      await mail.set({ attempts: attempts + 1, next_at: at }).execute()
    },
    async remove({ id }) {
      await db.deleteFrom(table).where('id', '=', id).execute()
    },
  }
}
