import { type Insertable, type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import type { DatabaseKind, OpenDatabase } from './kind.ts'
import { KINDS, kindOf } from './kinds.ts'

/*
 * What SQL spells differently on the four kinds. Everything else is written so that all four understand it: no
 * `onConflict`, no `returning`, no `limit`, no function that one kind alone has.
 */

/** Both classes are named: TypeScript infers the tables of a transaction by its own alone. */
type DatabaseOf<Tables> = Kysely<Tables> | Transaction<Tables>
type TableOf<Tables> = keyof Tables & string

/** Tables as the query builder takes them where their name is a variable. */
export type AnyTables = Record<string, Record<string, unknown>>
type AnyDatabase = Kysely<AnyTables>
type AnyRow = Readonly<Record<string, unknown>>

/**
 * Inserts a row unless one with its key (primary or unique) exists. Of callers at the same time, on any host, exactly one
 * gets true. A transaction stays usable after false.
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
    // A failing insert would share its lock on the row with others: two that then change the row wait for one another.
    // This one has the lock alone, and says by the "inserted id" whether the row existed.
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
 * Inserts a row, or gives the row that has its key the other values. Atomic, also against other hosts.
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

/** A deadlock undoes a whole transaction: within one, only its owner can try again. */
async function retryDeadlocks<T>(db: AnyDatabase, write: () => Promise<T>): Promise<T> {
  const last = db.isTransaction ? 1 : 5
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      if (attempt === last || !kindOf(db).isDeadlock(error)) throw error
    }
  }
}

/** Between the two statements others may insert or delete the row, hence the second and third round. */
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
  throw new Error(`a row of ${table} was inserted and deleted by others again and again`)
}

/** Whether a statement failed because a row with the same primary or unique key exists, on any kind. */
export function isUniqueViolation(error: unknown): boolean {
  return Object.values<DatabaseKind>(KINDS).some((kind) => kind.isUniqueViolation(error))
}

/** The query's first rows only, in place of its `limit`: `firstRows(db, query.orderBy('id'), 10)`. */
export function firstRows<Query extends { limit(count: number): unknown; top(count: number): unknown }>(
  db: OpenDatabase,
  query: Query,
  count: number,
): Query {
  return (kindOf(db).rowLimit === 'top' ? query.top(count) : query.limit(count)) as Query
}

/** How many bytes a column of them has: `byteLength(db, 'content')`. */
export function byteLength(db: OpenDatabase, column: string): RawBuilder<number> {
  return sql<number>`${sql.raw(kindOf(db).byteLength)}(${sql.ref(column)})`
}

/** The same database for names of tables that are variables. What is read and written there has no types. */
export function anyTables<Tables>(db: DatabaseOf<Tables>): Kysely<AnyTables> {
  // Kysely's own $extendTables keeps the types of the known tables, which a name of any table cannot have.
  return db as unknown as Kysely<AnyTables>
}
