import { PLATFORM_MIGRATIONS } from '../../base/database/migrations.ts'
import { type DatabaseSettings, openDatabase } from '../../base/database/open.ts'
import { needCurrentDatabase } from '../../base/database/open-as-it-is.ts'
import type { Tables } from '../../base/database/tables.ts'
import type { CenterDatabase, CenterTables } from '../database/tables.ts'
import { CENTER_MIGRATIONS } from './migrations.ts'

const MIGRATIONS = [PLATFORM_MIGRATIONS, CENTER_MIGRATIONS]

/**
 * Opens the database of a control center that may be running, for a command.
 * @throws the errors of `needCurrentDatabase` and `openDatabase`
 */
export async function openUsedCenterDatabase(where: DatabaseSettings): Promise<CenterDatabase> {
  await needCurrentDatabase(where, MIGRATIONS)
  return openCenterDatabase(where)
}

/** Opens the control center's database and migrates its schema. @throws the errors of `openDatabase` */
export async function openCenterDatabase(where: DatabaseSettings): Promise<CenterDatabase> {
  const db = await openDatabase(where, undefined, MIGRATIONS)
  return db.$extendTables<Omit<CenterTables, keyof Tables>>()
}
