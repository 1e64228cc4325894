import { insertOnce } from '../../base/database/portable.ts'
import type { HostDatabase } from '../database/tables.ts'

/** Stores which solutions' jobs are paused. While they are paused, no runs start, and due times add no runs. */
export interface Pauses {
  paused(): Promise<ReadonlySet<string>>
  /** Lists the paused solutions that would otherwise start runs: they have a schedule or unfinished runs. */
  holding(): Promise<readonly string[]>
  isPaused(solution: string): Promise<boolean>
  set(solution: string, isPaused: boolean): Promise<void>
}

export function createPauses(db: HostDatabase, now: () => number = Date.now): Pauses {
  return {
    async paused() {
      const rows = await db.selectFrom('job_pauses').select('solution').execute()
      return new Set(rows.map(({ solution }) => solution))
    },
    async holding() {
      const rows = await db
        .selectFrom('job_pauses')
        .innerJoin('solutions', 'name', 'solution')
        .where('deleted_at', 'is', null)
        .where((pause) =>
          pause.or([
            pause('name', 'in', pause.selectFrom('job_schedules').select('solution')),
            pause('name', 'in', pause.selectFrom('job_runs').select('solution').where('ended_at', 'is', null)),
          ]),
        )
        .select('name')
        .orderBy('name')
        .execute()
      return rows.map(({ name }) => name)
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
