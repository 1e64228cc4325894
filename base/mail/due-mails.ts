import { firstRows } from '../database/portable.ts'
import type { MailDatabase, MailRow, MailService } from './tables.ts'

/** Selects the mail to send next. */
export interface DueMails {
  /**
   * Round-robin over the organisations, oldest mail first. So an organisation's only mail doesn't have to wait for
   * another organisation's thousand emails.
   * @param now in epoch ms
   */
  next(now: number): Promise<MailRow | undefined>
}

export function createDueMails(db: MailDatabase, { mails: table }: MailService): DueMails {
  /** The organisation that was served last. */
  let last = ''

  return {
    async next(now) {
      const due = await db.selectFrom(table).select('organisation').distinct().where('next_at', '<=', now).execute()
      const organisations = due.map(({ organisation }) => organisation).sort()
      const organisation = organisations.find((name) => name > last) ?? organisations[0]
      if (organisation === undefined) return undefined
      last = organisation
      const mails = db.selectFrom(table).selectAll().where('organisation', '=', organisation)
      return firstRows(db, mails.where('next_at', '<=', now).orderBy('next_at'), 1).executeTakeFirst()
    },
  }
}
