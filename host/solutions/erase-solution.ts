import type { HostDatabase } from '../database/tables.ts'

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
