import type { Database } from '../../base/database/open.ts'

/**
 * Erases what is kept for a solution beside its versions and its log: whoever uploads another one under its name finds
 * no grant, no secret, no permission of a user and nobody signed in.
 */
export async function eraseSolutionData(db: Database, solution: string): Promise<void> {
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
  ] as const) {
    await db.deleteFrom(table).where('solution', '=', solution).execute()
  }
}
