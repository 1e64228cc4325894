import { answeredWithin } from '../../../base/database/answered-within.ts'
import { put } from '../../../base/database/portable.ts'
import { LoginPageAnswer } from '../../../base/protocol/protocol.ts'
import { parsedJson } from '../../../runtime/json.ts'
import type { HostDatabase } from '../../database/tables.ts'

/**
 * A page from the control center, stored in the platform's database. It is shared by all hosts and survives restarts.
 */
export type KeptPage = {
  readonly page: LoginPageAnswer
  /** The page's ETag. */
  readonly tag: string | null
  /** Identifies the control center and environment that sent the page. */
  readonly source: string
  /** When a host last checked that the page is current, in epoch ms. */
  readonly checkedAt: number
}

/**
 * Stores pages in the database. Every call returns within `PATIENCE` ms. While the database is unreachable, pages are
 * neither read nor stored.
 */
export interface PageRows {
  read(solution: string): Promise<KeptPage | null>
  keep(solution: string, kept: KeptPage): Promise<void>
  /** Records that the stored page is still current. */
  checked(solution: string, checkedAt: number): Promise<void>
}

/** Timeout of a database query, in ms. It is short, because a visitor may be waiting. */
const PATIENCE = 1000

export function createPageRows(db: HostDatabase): PageRows {
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
      const page = row ? LoginPageAnswer.safeParse(parsedJson(row.content)) : null
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
