import { type Expression, type ExpressionBuilder, type SqlBool, sql, type TransactionBuilder } from 'kysely'
import { PlatformError } from '../../runtime/errors.ts'
import type { KindName } from '../database/kind.ts'
import { kindOf } from '../database/kinds.ts'
import type { Database } from '../database/open.ts'
import { openAsItIs, SAME_SETTINGS } from '../database/open-as-it-is.ts'
import { type AnyTables, anyTables, firstRows } from '../database/portable.ts'
import { readSchema, refuseNewerSchema } from '../database/schema-version.ts'
import type { Tables } from '../database/tables.ts'
import { type SavedPlace, tablesAt } from './saved.ts'
import type { BackupTable } from './tables.ts'

export type Row = Readonly<Record<string, unknown>>

/** A consistent snapshot of a database, unaffected by concurrent writes. */
export type Snapshot = {
  readonly db: Database
  /** Schema versions by table group. */
  readonly schemas: Readonly<Record<string, string>>
  /** In this order, each table comes after the tables that it references. */
  readonly tables: readonly (readonly [name: string, table: BackupTable])[]
}

/**
 * Rows per query. Tables with binary columns use smaller pages, because one row can be as large as the largest bundle.
 */
const PAGE = 500
const PAGE_OF_BYTES = 4
/** Timeout for one statement, in ms. It can be long, because only the backup waits for it. */
const STATEMENT_TIME = 10 * 60_000

/**
 * Reads all tables in one transaction. With the embedded database, PostgreSQL, MySQL and MariaDB, writers aren't
 * blocked. With SQL Server, they are blocked unless snapshot isolation is enabled.
 * @throws ERR_DATABASE_UNREACHABLE, ERR_BACKUP_FAILED if there is no database or no host ever used it,
 * ERR_DATABASE_VERSION if a newer version wrote it
 */
export async function withSnapshot<T>(
  { settings, tables }: SavedPlace,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const db = await openAsItIs(settings, STATEMENT_TIME, nothingThere)
  const { kind, name } = settings.database
  try {
    const transaction = await snapshotOf(db, kind)
    return await transaction.execute(async (db) => {
      const schemas: Record<string, string> = {}
      for (const one of tables) {
        const applied = await readSchema(db, one.migrations)
        refuseNewerSchema(applied, `The database "${name}"`, one.migrations)
        const version = applied.at(-1)
        if (version === undefined)
          throw nothingThere(`The database "${name}" does not contain Solhost’s "${one.name}" tables`)
        schemas[one.name] = version
      }
      return work({ db, schemas, tables: tables.flatMap((one) => tablesAt(one, schemas[one.name] as string)) })
    })
  } finally {
    await db.destroy()
  }
}

async function snapshotOf(db: Database, kind: KindName): Promise<TransactionBuilder<Tables>> {
  const transaction = db.transaction()
  if (kind === 'embedded') return transaction
  if (kind !== 'beta') return transaction.setIsolationLevel('repeatable read').setAccessMode('read only')
  const { rows } = await sql<{ state: number }>`
    select snapshot_isolation_state as state from sys.databases where name = db_name()`.execute(db)
  return transaction.setIsolationLevel(rows[0]?.state === 1 ? 'snapshot' : 'serializable')
}

function nothingThere(what: string): PlatformError {
  return new PlatformError('ERR_BACKUP_FAILED', `${what}, so there is nothing to back up. ${SAME_SETTINGS}`)
}

/** Yields a table's rows in pages, ordered by primary key. */
export async function* readRows(db: Database, name: string, { key, bytes }: BackupTable): AsyncGenerator<Row[]> {
  const size = bytes === undefined ? PAGE : PAGE_OF_BYTES
  const any = anyTables(db)
  let last: Row | null = null
  for (;;) {
    let query = any.selectFrom(name).selectAll()
    for (const column of key) query = query.orderBy(column)
    const after: Row | null = last
    if (after !== null) query = query.where((eb) => comesAfter(eb, kindOf(db).name, key, after))
    const rows: Row[] = await firstRows(db, query, size).execute()
    if (rows.length > 0) yield rows
    if (rows.length < size) return
    last = rows.at(-1) ?? null
  }
}

/**
 * Returns a condition for the rows after a key. SQLite and PostgreSQL use an index for row comparisons, which matters
 * because telemetry tables can have millions of rows. The other databases don't support row comparisons, or would scan
 * all earlier rows.
 */
function comesAfter(
  eb: ExpressionBuilder<AnyTables, string>,
  kind: KindName,
  key: readonly string[],
  after: Row,
): Expression<SqlBool> {
  if (kind === 'embedded' || kind === 'alpha') {
    const columns = sql.join(key.map((column) => sql.ref(column)))
    return sql<SqlBool>`(${columns}) > (${sql.join(key.map((column) => after[column]))})`
  }
  const { and, or } = eb
  return or(
    key.map((column, at) =>
      and([...key.slice(0, at).map((before) => eb(before, '=', after[before])), eb(column, '>', after[column])]),
    ),
  )
}
