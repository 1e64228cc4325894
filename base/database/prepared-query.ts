import type { Compilable, CompiledQuery, QueryResult } from 'kysely'

/** A database or a transaction. */
type Runner = { executeQuery<Row>(query: CompiledQuery<Row>): Promise<QueryResult<Row>> }

/** A query that is built once and run with different values. */
export type PreparedQuery<Name extends string, Row> = {
  readonly run: (db: Runner, values: Readonly<Record<Name, unknown>>) => Promise<QueryResult<Row>>
}

/** The prefix of the placeholders that represent values while a query is built. No real value starts with it. */
const MARK = '\0value of '

/**
 * Builds a query for frequent use. Building a query takes longer than the embedded database takes to run it.
 * @param names the names of the values; each value may occur several times
 * @param build builds the query, with each value as a parameter, for example in `where`
 */
export function prepareQuery<Name extends string, Row>(
  names: readonly Name[],
  build: (values: Readonly<Record<Name, never>>) => Compilable<Row>,
): PreparedQuery<Name, Row> {
  let prepared: Prepared<Name, Row> | null = null
  return {
    run(db, values) {
      prepared ??= prepare(names, build)
      const parameters = prepared.parameters.map(({ name, constant }) => (name === undefined ? constant : values[name]))
      return db.executeQuery({ ...prepared.query, parameters })
    },
  }
}

type Prepared<Name extends string, Row> = {
  readonly query: CompiledQuery<Row>
  /** If `name` is undefined, the parameter's value is always `constant`. */
  readonly parameters: readonly { readonly name: Name | undefined; readonly constant: unknown }[]
}

function prepare<Name extends string, Row>(
  names: readonly Name[],
  build: (values: Readonly<Record<Name, never>>) => Compilable<Row>,
): Prepared<Name, Row> {
  const marks = Object.fromEntries(names.map((name) => [name, MARK + name])) as Record<Name, never>
  const query = build(marks).compile()
  const parameters = query.parameters.map((parameter) => ({
    name: names.find((one) => parameter === MARK + one),
    constant: parameter,
  }))
  return { query, parameters }
}
