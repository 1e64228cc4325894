import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { Migrator } from 'kysely/migration'
import { PlatformError } from '../../runtime/errors.ts'
import { MIGRATIONS } from './migrations.ts'
import { nodeSqliteDialect } from './node-sqlite.ts'
import type { Tables } from './tables.ts'

export type Database = Kysely<Tables>

/**
 * Opens the platform's database in the folder `home` (made if missing, for this account only) and brings its schema
 * up to date.
 * @throws ERR_DATABASE_VERSION when a newer version of the platform wrote it
 */
export async function openDatabase(home: string): Promise<Database> {
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const file = join(home, 'platform.sqlite')
  const db = new Kysely<Tables>({ dialect: nodeSqliteDialect(file) })
  chmodSync(file, 0o600)
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error } = await migrator.migrateToLatest()
  if (error === undefined) return db
  await db.destroy()
  throw new PlatformError(
    'ERR_DATABASE_VERSION',
    `The database ${file} cannot be brought to this version: it may have been written by a newer one. ` +
      'Start that version again, or restore a backup made with this one.',
    {},
    { cause: error },
  )
}
