import { answeredWithin } from '../../../base/database/answered-within.ts'
import type { Database } from '../../../base/database/open.ts'
import { put } from '../../../base/database/portable.ts'
import { LoginPageAnswer } from '../../../base/protocol/protocol.ts'

/** A page as the control center gave it, kept in the platform's database for restarts and for all hosts that share it. */
export type KeptPage = {
  readonly page: LoginPageAnswer
  /** The ETag that it came with. */
  readonly tag: string | null
  /** Which control center and environment it came from. */
  readonly source: string
  /** When one of the hosts last asked whether it is still the one, in epoch ms. */
  readonly checkedAt: number
}

/** Each answers within `PATIENCE`; while the database is away there is no page, and none is kept. */
export interface PageRows {
  read(solution: string): Promise<KeptPage | null>
  keep(solution: string, kept: KeptPage): Promise<void>
  /** It was asked, and the page is still the one. */
  checked(solution: string, checkedAt: number): Promise<void>
}

/** In ms: a visitor may wait for it. */
const PATIENCE = 1000

export function createPageRows(db: Database): PageRows {
  async function orNull<T>(answer: Promise<T>): Promise<T | null> {
    try {
      return await answeredWithin(PATIENCE, answer)
    } catch {
      return null
    }
  }

  return {
    async read(solution) {
      const query = db.selectFrom('cloud_login_pages').selectAll().where('solution', '=', solution)
      const row = await orNull(query.executeTakeFirst())
      const page = row ? LoginPageAnswer.safeParse(parsed(row.content)) : null
      if (!row || !page?.success) return null
      return { page: page.data, tag: row.tag, source: row.source, checkedAt: row.checked_at }
    },
    async keep(solution, { page, tag, source, checkedAt }) {
      const row = { solution, content: JSON.stringify(page), tag, source, checked_at: checkedAt }
      await orNull(put(db, 'cloud_login_pages', ['solution'], row))
    },
    async checked(solution, checkedAt) {
      const row = { checked_at: checkedAt }
      await orNull(db.updateTable('cloud_login_pages').set(row).where('solution', '=', solution).execute())
    },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
