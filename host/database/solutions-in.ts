import type { HostDatabase } from './tables.ts'

/**
 * Yields the solutions that have rows in a table, sorted. Each is found with the index that starts with the solution. A
 * `select distinct` would read all rows.
 */
export async function* solutionsIn(db: HostDatabase, table: 'solution_log' | 'job_runs'): AsyncGenerator<string> {
  for (let last = ''; ; ) {
    const { next } = await db
      .selectFrom(table)
      .select(({ fn }) => fn.min('solution').as('next'))
      .where('solution', '>', last)
      .executeTakeFirstOrThrow()
    if (next === null) return
    yield next
    last = next
  }
}
