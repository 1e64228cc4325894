import { insertOnce } from '../../base/database/portable.ts'
import type { HostDatabase } from '../database/tables.ts'

/** Stores which solutions' jobs are paused. While they are paused, no runs start, and due times add no runs. */
export interface Pauses {
  paused(): Promise<ReadonlySet<string>>
  isPaused(solution: string): Promise<boolean>
  set(solution: string, isPaused: boolean): Promise<void>
}

export function createPauses(db: HostDatabase, now: () => number = Date.now): Pauses {
  return {
    async paused() {
      const rows = await db.selectFrom('job_pauses').select('solution').execute()
      return new Set(rows.map(({ solution }) => solution))
    },
    async isPaused(solution) {
      const row = await db
        .selectFrom('job_pauses')
        .select('solution')
        .where('solution', '=', solution)
        .executeTakeFirst()
      return row !== undefined
    },
    async set(solution, isPaused) {
      if (isPaused) await insertOnce(db, 'job_pauses', { solution, paused_at: now() })
      else await db.deleteFrom('job_pauses').where('solution', '=', solution).execute()
    },
  }
}
