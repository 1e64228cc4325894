import { insertOnce } from '../../../base/database/portable.ts'
import { repeat } from '../../../base/work/repeat.ts'
import { parsedJson } from '../../../runtime/json.ts'
import type { HostDatabase } from '../../database/tables.ts'

/** Ensures that only one of the nodes that share a database does the work at a time. */
export interface Lease {
  /**
   * Does the work unless another node has the lease.
   * @returns false if another node has the lease
   */
  hold(work: () => Promise<void>): Promise<boolean>
}

const KEY = 'cloud_lease'
/** Lifetime of a lease, in ms. If a node crashes, another node can take the lease after this time. */
const LENGTH = 30_000
const RENEW_EVERY = 10_000
/**
 * How far the nodes' clocks may differ, in ms. If a lease ends later than a node with this difference could set it, the
 * clock was wrong when the lease was stored. Such a lease counts as expired, because no state would be applied until
 * that time.
 */
const CLOCK_DIFFERENCE = 60_000

/** @param now returns the current time in epoch milliseconds; the nodes' clocks may differ by a few seconds */
export function createLease(db: HostDatabase, node: string, now: () => number = Date.now): Lease {
  const valueNow = () => JSON.stringify({ node, until: now() + LENGTH })

  async function replace(before: string, after: string): Promise<boolean> {
    const { numUpdatedRows } = await db
      .updateTable('platform')
      .set({ value: after })
      .where('key', '=', KEY)
      .where('value', '=', before)
      .executeTakeFirst()
    return numUpdatedRows === 1n
  }

  /** @returns the stored value, or null if another node has the lease */
  async function take(): Promise<string | null> {
    const mine = valueNow()
    if (await insertOnce(db, 'platform', { key: KEY, value: mine })) return mine
    const row = await db.selectFrom('platform').select('value').where('key', '=', KEY).executeTakeFirst()
    if (row === undefined) return null
    const rest = untilOf(row.value) - now()
    if (rest > 0 && rest <= LENGTH + CLOCK_DIFFERENCE) return null
    return (await replace(row.value, mine)) ? mine : null
  }

  return {
    async hold(work) {
      const taken = await take()
      if (taken === null) return false
      let value = taken
      const renew = async () => {
        const next = valueNow()
        if (await replace(value, next)) value = next
      }
      // If this node can't reach the database for `LENGTH` ms, another node may also start the work. That is safe,
      // because the work has the same result on both.
      const stopRenewing = repeat(RENEW_EVERY, renew, () => {})
      try {
        await work()
      } finally {
        // Wait for a renewal in progress, because it changes the row that must be deleted.
        await stopRenewing()
        await db.deleteFrom('platform').where('key', '=', KEY).where('value', '=', value).execute()
      }
      return true
    },
  }
}

function untilOf(value: string): number {
  return Number((parsedJson(value) as { until?: unknown } | null)?.until) || 0
}
