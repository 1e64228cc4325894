import { PLATFORM_MIGRATIONS } from '../../base/database/migrations.ts'
import { type DatabaseSettings, openDatabase } from '../../base/database/open.ts'
import type { Tables } from '../../base/database/tables.ts'
import type { CenterDatabase, CenterTables } from '../database/tables.ts'
import { CENTER_MIGRATIONS } from './migrations.ts'

/** Opens the control center's database and migrates its schema. @throws the errors of `openDatabase` */
export async function openCenterDatabase(where: DatabaseSettings): Promise<CenterDatabase> {
  const db = await openDatabase(where, undefined, [PLATFORM_MIGRATIONS, CENTER_MIGRATIONS])
  return db.$extendTables<Omit<CenterTables, keyof Tables>>()
}
