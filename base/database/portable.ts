import { type Insertable, type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import type { DatabaseKind, OpenDatabase } from './kind.ts'
import { KINDS, kindOf } from './kinds.ts'

/*
 * SQL that differs between the four kinds of database. All other statements must work on all four: without
 * `onConflict`, `returning`, `limit`, and functions that only one kind has.
 */

/** Both classes are listed because TypeScript can infer a transaction's tables only from the transaction class. */
type DatabaseOf<Tables> = Kysely<Tables> | Transaction<Tables>
type TableOf<Tables> = keyof Tables & string

/** Table types that the query builder needs if the table name is a variable. */
export type AnyTables = Record<string, Record<string, unknown>>
type AnyDatabase = Kysely<AnyTables>
type AnyRow = Readonly<Record<string, unknown>>

/**
 * Inserts a row unless a row with the same primary or unique key exists. If several callers try at the same time, even
 * on different hosts, exactly one gets true. If the result is false, the transaction can still be used.
 */
export function insertOnce<Tables, T extends TableOf<Tables>>(
  db: DatabaseOf<Tables>,
  table: T,
  row: Insertable<Tables[T]>,
): Promise<boolean> {
  return insertAnyOnce(anyTables(db), table, row)
}

function insertAnyOnce(db: AnyDatabase, table: string, row: AnyRow): Promise<boolean> {
  return retryDeadlocks(db, () => tryInsert(db, table, row))
}

async function tryInsert(db: AnyDatabase, table: string, row: AnyRow): Promise<boolean> {
  const insert = db.insertInto(table).values(row)
  const { conflict } = kindOf(db)
  if (conflict === 'on conflict') {
    const result = await insert.onConflict((onConflict) => onConflict.doNothing()).executeTakeFirst()
    return result.numInsertedOrUpdatedRows === 1n
  }
  if (conflict === 'on duplicate key') {
    // A failing insert would take a shared lock on the row. Two callers that then update the row would deadlock. This
    // statement takes an exclusive lock instead. Its "inserted id" shows whether the row existed.
    const [column = ''] = Object.keys(row)
    const unchanged = sql`if(last_insert_id(1) = 1, ${sql.ref(column)}, ${sql.ref(column)})`
    return (await insert.onDuplicateKeyUpdate({ [column]: unchanged }).executeTakeFirst()).insertId === undefined
  }
  try {
    await insert.execute()
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}

/**
 * Inserts a row, or updates the row with the same key. Atomic, even if several hosts write the row.
 * @param key the columns of the table's primary key, such as `['solution', 'name']`
 */
export async function put<Tables, T extends TableOf<Tables>>(
  db: DatabaseOf<Tables>,
  table: T,
  key: readonly (keyof Insertable<Tables[T]> & string)[],
  row: Insertable<Tables[T]>,
): Promise<void> {
  await putAny(anyTables(db), table, key, row)
}

async function putAny(db: AnyDatabase, table: string, key: readonly string[], row: AnyRow): Promise<void> {
  const others = Object.fromEntries(Object.entries(row).filter(([column]) => !key.includes(column)))
  if (Object.keys(others).length === 0) {
    await insertAnyOnce(db, table, row)
    return
  }
  const insert = db.insertInto(table).values(row)
  await retryDeadlocks(db, async () => {
    const { conflict } = kindOf(db)
    if (conflict === 'on conflict') {
      await insert.onConflict((onConflict) => onConflict.columns([...key]).doUpdateSet(others)).execute()
    } else if (conflict === 'on duplicate key') {
      await insert.onDuplicateKeyUpdate(others).execute()
    } else {
      await updateOrInsert(db, table, key, row, others)
    }
  })
}

/**
 * Runs a transaction, and repeats it if a deadlock rolled it back. `work` must therefore change nothing outside the
 * transaction.
 */
export function inTransaction<Tables, T>(
  db: Kysely<Tables>,
  work: (transaction: Transaction<Tables>) => Promise<T>,
): Promise<T> {
  return retryDeadlocks(db, () => db.transaction().execute(work))
}

/**
 * Doesn't retry inside a transaction. A deadlock rolls back the whole transaction, so only the code that started it can
 * retry.
 */
async function retryDeadlocks<T>(
  db: OpenDatabase & { readonly isTransaction: boolean },
  write: () => Promise<T>,
): Promise<T> {
  const last = db.isTransaction ? 1 : 5
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      if (attempt === last || !kindOf(db).isDeadlock(error)) throw error
    }
  }
}

/** Tries three times, because other callers can insert or delete the row between the two statements. */
async function updateOrInsert(
  db: AnyDatabase,
  table: string,
  key: readonly string[],
  row: AnyRow,
  others: Record<string, unknown>,
): Promise<void> {
  for (let round = 0; round < 3; round++) {
    let update = db.updateTable(table).set(others)
    for (const column of key) update = update.where(column, '=', row[column])
    if ((await update.executeTakeFirst()).numUpdatedRows > 0n) return
    if (await insertAnyOnce(db, table, row)) return
  }
  throw new Error(`cannot write a row to ${table}: other connections kept inserting and deleting it`)
}

export function isUniqueViolation(error: unknown): boolean {
  return Object.values<DatabaseKind>(KINDS).some((kind) => kind.isUniqueViolation(error))
}

/** Limits a query to its first rows. Use this instead of `limit`: `firstRows(db, query.orderBy('id'), 10)`. */
export function firstRows<Query extends { limit(count: number): unknown; top(count: number): unknown }>(
  db: OpenDatabase,
  query: Query,
  count: number,
): Query {
  return (kindOf(db).rowLimit === 'top' ? query.top(count) : query.limit(count)) as Query
}

/** Returns an expression for the length of a column in bytes: `byteLength(db, 'content')`. */
export function byteLength(db: OpenDatabase, column: string): RawBuilder<number> {
  return sql<number>`${sql.raw(kindOf(db).byteLength)}(${sql.ref(column)})`
}

/** Returns the same database with a type that accepts variables as table names. Its rows are untyped. */
export function anyTables<Tables>(db: DatabaseOf<Tables>): Kysely<AnyTables> {
  // This needs a cast, because a variable can contain any table name. Kysely's $extendTables would only add to the
  // known tables.
  return db as unknown as Kysely<AnyTables>
}
