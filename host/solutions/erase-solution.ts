import type { Logger } from 'pino'
import type { HostDatabase } from '../database/tables.ts'
import type { SolutionLog } from './solution-log.ts'
import type { SolutionStore } from './solution-store.ts'

export type EraseParts = {
  readonly store: Pick<SolutionStore, 'expired' | 'erase'>
  readonly solutionLog: Pick<SolutionLog, 'erase'>
  readonly jobRuns: { eraseEnded(solution: string): Promise<void> }
  readonly solutionDatabases: { erase(solution: string): Promise<void> }
  readonly log: Pick<Logger, 'error'>
}

/**
 * Erases all data of the solutions that were deleted longer than `DELETED_KEPT` ago. Errors are logged, and the next call
 * tries again.
 */
export async function eraseExpired({ store, solutionLog, jobRuns, solutionDatabases, log }: EraseParts): Promise<void> {
  for await (const solution of store.expired()) {
    try {
      // The log and the ended runs are too large for the transaction. If the solution is uploaded again meanwhile, it
      // loses nothing else.
      await solutionLog.erase(solution)
      await jobRuns.eraseEnded(solution)
      await store.erase(solution, async (transaction) => {
        await eraseSolutionData(transaction, solution)
        await solutionDatabases.erase(solution)
      })
    } catch (error) {
      log.error({ solution, err: error }, 'a deleted solution could not be erased; the host will try again')
    }
  }
}

/**
 * Erases a solution's data except its versions and log. Otherwise, another solution that is later uploaded under the
 * same name would inherit its grants, secrets, user permissions and sessions.
 */
export async function eraseSolutionData(db: HostDatabase, solution: string): Promise<void> {
  for (const table of [
    'grants',
    'secrets',
    'permissions',
    'remembered',
    'sessions',
    'oauth_settings',
    'oauth_transactions',
    'provider_logins',
    'cloud_login_pages',
    'factor_accounts',
    'open_sign_ins',
    'sign_in_policies',
    'links',
    'drafts',
    'job_runs',
    'job_schedules',
    'job_pauses',
  ] as const) {
    await db.deleteFrom(table).where('solution', '=', solution).execute()
  }
}
