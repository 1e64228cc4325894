import type { Database } from '../database/open.ts'
import { anyTables, insertOnce } from '../database/portable.ts'

/** The schema version that created the tables of jobs. */
export const JOBS = '023-jobs'

/**
 * Pauses the jobs of all solutions after a restore. Otherwise, runs that were queued at the time of the backup could
 * run twice: they may have been completed since.
 * @param version the version of the restored schema
 */
export async function pauseJobs(db: Database, version: string): Promise<void> {
  if (version < JOBS) return
  const any = anyTables(db)
  for (const { name } of await any.selectFrom('solutions').select('name').execute()) {
    await insertOnce(any, 'job_pauses', { solution: name, paused_at: Date.now() })
  }
}
