import type { Kysely } from 'kysely'

/** Returns the same database, and the number of rows that each of its statements returned or changed. */
export function withRowCounts<Tables>(db: Kysely<Tables>): { db: Kysely<Tables>; rows: number[] } {
  const rows: number[] = []
  const counted = db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      rows.push(Math.max(result.rows.length, Number(result.numAffectedRows ?? 0)))
      return result
    },
  })
  return { db: counted, rows }
}
