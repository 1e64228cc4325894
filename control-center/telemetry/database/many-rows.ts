import { type RawBuilder, sql } from 'kysely'
import { kindOf } from '../../../base/database/kinds.ts'
import type { TelemetryDatabase, TelemetryTables } from './tables.ts'

/*
 * Passes many values as one JSON parameter, which both kinds of database can read. With one parameter per value, each
 * number of rows would need a different prepared statement.
 */

/** `whole` is an integer; `part` is a number with a fraction. */
export type ColumnKind = 'text' | 'whole' | 'part'
const ALPHA_TYPES = { text: 'text', whole: 'bigint', part: 'double precision' } as const

/** Maximum rows per statement. More rows are inserted with several statements. */
const MOST_ROWS = 1000

/**
 * Inserts rows, each a list of values in the order of `columns`.
 * @param conflict the text after `on conflict`, such as `do nothing`
 * @returns how many rows were inserted or changed
 */
export async function insertMany<T extends keyof TelemetryTables & string>(
  db: TelemetryDatabase,
  table: T,
  columns: Readonly<Partial<Record<keyof TelemetryTables[T] & string, ColumnKind>>>,
  rows: readonly (readonly (string | number | null)[])[],
  conflict?: RawBuilder<unknown>,
): Promise<number> {
  const names = sql.join(Object.keys(columns).map((name) => sql.ref(name)))
  let count = 0
  for (let from = 0; from < rows.length; from += MOST_ROWS) {
    const source = rowsOf(db, Object.values(columns) as ColumnKind[], rows.slice(from, from + MOST_ROWS))
    const end = conflict === undefined ? sql`` : sql`on conflict ${conflict}`
    const result = await sql`insert into ${sql.table(table)} (${names}) ${source} ${end}`.execute(db)
    count += Number(result.numAffectedRows ?? 0)
  }
  return count
}

/** Returns a `select` that yields the rows. Without `where true`, SQLite parses `on conflict` as part of a join. */
function rowsOf(
  db: TelemetryDatabase,
  kinds: readonly ColumnKind[],
  rows: readonly (readonly (string | number | null)[])[],
): RawBuilder<unknown> {
  const json = JSON.stringify(rows)
  if (kindOf(db).name === 'embedded') {
    const values = kinds.map((_, index) => sql`value ->> ${sql.lit(index)}`)
    return sql`select ${sql.join(values)} from json_each(${json}) where true`
  }
  const values = kinds.map((kind, index) => sql`(value ->> ${sql.lit(index)})::${sql.raw(ALPHA_TYPES[kind])}`)
  return sql`select ${sql.join(values)} from json_array_elements(${json}::json) as rows(value) where true`
}

export function isOneOf(
  db: TelemetryDatabase,
  column: string,
  values: readonly string[] | readonly number[],
): RawBuilder<boolean> {
  const json = JSON.stringify(values)
  if (kindOf(db).name === 'embedded') return sql`${sql.ref(column)} in (select value from json_each(${json}))`
  const type = typeof values[0] === 'number' ? sql.raw('bigint') : sql.raw('text')
  return sql`${sql.ref(column)} in (select value::${type} from json_array_elements_text(${json}::json) as rows(value))`
}
