import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { PlatformError } from '../../runtime/errors.ts'
import { kindOf } from '../database/kinds.ts'
import { migrationsFor } from '../database/migrations.ts'
import type { Database } from '../database/open.ts'
import { anyTables, firstRows } from '../database/portable.ts'
import { readSchema } from '../database/schema-version.ts'
import type { Row } from './read-tables.ts'
import { derivedAt, type SavedTables, tablesAt } from './saved.ts'
import type { BackupTable } from './tables.ts'

/** Maximum number of values per INSERT. SQL Server accepts at most 2,100 parameters per statement. */
const MOST_VALUES = 2000
/** Maximum number of characters per INSERT. A row with binary data has its own INSERT. */
const MOST_CHARACTERS = 1024 * 1024

/** Whether all tables are empty or missing. */
export async function isEmptyDatabase(db: Database, all: readonly SavedTables[]): Promise<boolean> {
  const there = new Set((await db.introspection.getTables()).map(({ name }) => name))
  for (const [name, table] of all.flatMap(({ tables }) => Object.entries(tables))) {
    if (!there.has(name)) continue
    const query = anyTables(db)
      .selectFrom(name)
      .select(table.key[0] as string)
    if ((await firstRows(db, query, 1).execute()).length > 0) return false
  }
  return true
}

/**
 * Creates the tables in a schema version, or migrates older tables to that version.
 * @returns a function that drops the tables if this call created them
 * @throws ERR_DATABASE_VERSION if the tables are newer than that version
 * @throws ERR_RESTORE_NOT_EMPTY if other software created tables with the same names; they must not be dropped
 */
export async function makeTables(
  db: Database,
  saved: SavedTables,
  version: string,
  what: string,
): Promise<() => Promise<void>> {
  const { migrations } = saved
  const before = await readSchema(db, migrations)
  const latest = before.at(-1)
  if (latest !== undefined && latest > version) {
    throw new PlatformError(
      'ERR_DATABASE_VERSION',
      `${what} has the schema version "${latest}", which is newer than the backup’s schema version "${version}". ` +
        'Set PLATFORM_DATABASE_NAME to an empty database, then restore again.',
    )
  }
  if (latest === undefined) await refuseForeignTables(db, saved, what)
  const kind = kindOf(db)
  const { migrationTableName, migrationLockTableName } = migrations
  const provider = { getMigrations: async () => migrationsFor(kind, migrations) }
  const migrator = new Migrator({ db, provider, migrationTableName, migrationLockTableName })
  const drop = async () => {
    if (latest === undefined) await dropTables(db, saved)
  }
  const { error } = await migrator.migrateTo(version)
  if (error === undefined) return drop
  await drop()
  throw error
}

function namesOf({ tables, derived }: SavedTables): readonly string[] {
  return [...Object.keys(tables), ...Object.keys(derived?.tables ?? {})]
}

async function refuseForeignTables(db: Database, saved: SavedTables, what: string): Promise<void> {
  const there = new Set((await db.introspection.getTables()).map(({ name }) => name))
  const foreign = namesOf(saved).filter((name) => there.has(name))
  if (foreign.length === 0) return
  throw new PlatformError(
    'ERR_RESTORE_NOT_EMPTY',
    `${what} is not a Solhost database, but it contains tables with names that Solhost uses (${foreign.join(', ')}). ` +
      'Nothing was changed. Set PLATFORM_DATABASE_NAME to an empty database, then restore again.',
  )
}

async function dropTables(db: Database, saved: SavedTables): Promise<void> {
  const { migrationTableName, migrationLockTableName } = saved.migrations
  for (const name of [...namesOf(saved).toReversed(), migrationTableName, migrationLockTableName])
    await db.schema.dropTable(name).ifExists().execute()
}

/** Deletes all rows. Call this in the transaction that writes the new rows. */
export async function emptyTables(db: Database, saved: SavedTables, version: string): Promise<void> {
  const names = [...tablesAt(saved, version).map(([name]) => name), ...derivedAt(saved, version)]
  for (const name of names.toReversed()) await anyTables(db).deleteFrom(name).execute()
}

/** @throws TypeError if a row's columns differ from the table's */
export async function writeRows(
  db: Database,
  name: string,
  table: BackupTable,
  columns: ReadonlySet<string>,
  rows: AsyncIterable<Row>,
): Promise<number> {
  const kind = kindOf(db).name
  const isNumbered = table.isCounted === true
  const identityInsert = (on: boolean) =>
    sql`set identity_insert ${sql.table(name)} ${sql.raw(on ? 'on' : 'off')}`.execute(db)
  if (isNumbered && kind === 'beta') await identityInsert(true)
  const most = table.bytes === undefined ? Math.max(1, Math.floor(MOST_VALUES / columns.size)) : 1
  let count = 0
  let size = 0
  let waiting: Row[] = []
  async function flush(): Promise<void> {
    if (waiting.length > 0) await anyTables(db).insertInto(name).values(waiting).execute()
    count += waiting.length
    waiting = []
    size = 0
  }
  for await (const row of rows) {
    const given = Object.keys(row)
    if (given.length !== columns.size || !given.every((column) => columns.has(column)))
      throw new TypeError('a row does not have the same columns as its table')
    waiting.push(row)
    for (const value of Object.values(row)) size += typeof value === 'string' ? value.length : 8
    if (waiting.length >= most || size > MOST_CHARACTERS) await flush()
  }
  await flush()
  if (isNumbered && kind === 'beta') await identityInsert(false)
  // In PostgreSQL, set the sequence to continue after these rows. The other databases do that automatically.
  if (isNumbered && kind === 'alpha') {
    await sql`select setval(pg_get_serial_sequence(${name}, 'id'),
      (select coalesce(max(id), 0) + 1 from ${sql.table(name)}), false)`.execute(db)
  }
  return count
}

/** Returns the columns of each table in this database. */
export async function columnsOf(db: Database): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const tables = await db.introspection.getTables()
  return new Map(tables.map(({ name, columns }) => [name, new Set(columns.map((column) => column.name))]))
}

/**
 * Returns the number of other connections to the database. Most are from running hosts. A host without an open
 * connection is not detected.
 */
export async function otherConnections(db: Database): Promise<number> {
  const queries = {
    alpha: sql<{ count: number }>`select count(*) as count from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
    beta: sql<{ count: number }>`select count(*) as count from sys.dm_exec_sessions
      where database_id = db_id() and session_id <> @@spid and is_user_process = 1`,
    gamma: sql<{ count: number }>`select count(*) as count from information_schema.processlist
      where db = database() and id <> connection_id()`,
    embedded: null,
  }
  const query = queries[kindOf(db).name]
  return query === null ? 0 : Number((await query.execute(db)).rows[0]?.count ?? 0)
}
