import type { Database } from '../../base/database/open.ts'
import type { CenterDatabase } from './tables.ts'

/** The same database for what both services have, which knows the platform's tables alone. */
export function asPlatform(db: CenterDatabase): Database {
  return db as unknown as Database
}
