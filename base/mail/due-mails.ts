import { firstRows } from '../database/portable.ts'
import type { MailDatabase, MailRow, MailService } from './tables.ts'

/** Selects the emails to send next. */
export interface DueMails {
  /**
   * Round-robin over the organisations, oldest mail first. So an organisation's only mail doesn't have to wait for
   * another organisation's thousand emails.
   * @param now in epoch ms
   */
  next(now: number, most: number): Promise<readonly MailRow[]>
}

export function createDueMails(db: MailDatabase, { mails: table }: MailService): DueMails {
  /** The organisation that was served last. */
  let last = ''

  async function inTurn(now: number): Promise<readonly string[]> {
    const waiting = await db.selectFrom(table).select('organisation').distinct().where('next_at', '<=', now).execute()
    const all = waiting.map(({ organisation }) => organisation).sort()
    const first = all.findIndex((organisation) => organisation > last)
    return first < 0 ? all : [...all.slice(first), ...all.slice(0, first)]
  }

  return {
    async next(now, most) {
      const organisations = (await inTurn(now)).slice(0, most)
      const each = Math.ceil(most / organisations.length)
      const oldest = organisations.map((organisation) => {
        const mails = db.selectFrom(table).selectAll().where('organisation', '=', organisation)
        return firstRows(db, mails.where('next_at', '<=', now).orderBy('next_at'), each).execute()
      })
      const mails = turns(await Promise.all(oldest)).slice(0, most)
      last = mails.at(-1)?.organisation ?? last
      return mails
    },
  }
}

/** The first mail of each list, then the second mail of each list, and so on. */
function turns<T>(lists: readonly (readonly T[])[]): readonly T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1))).flat()
}
