import { type DatabaseSettings, openDatabase, type QueryWatch } from '../../base/database/open.ts'
import type { Tables } from '../../base/database/tables.ts'
import type { HostDatabase, HostTables } from './tables.ts'

/**
 * Opens a host's database and migrates its schema.
 * @param where the database's settings, or the home folder of an embedded database
 * @throws the errors of `openDatabase`
 */
export async function openHostDatabase(where: DatabaseSettings | string, watch?: QueryWatch): Promise<HostDatabase> {
  const db = await openDatabase(where, watch)
  return db.$extendTables<Omit<HostTables, keyof Tables>>()
}
