import { answeredWithin } from '../../base/database/answered-within.ts'
import { createBriefCache } from '../../base/database/brief-cache.ts'
import type { Database } from '../../base/database/open.ts'
import { put } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'

/** While it is on, nobody new comes in and signed-in users finish; it holds on all hosts within 1 s. */
export interface Maintenance {
  isOn(): Promise<boolean>
  set(on: boolean): Promise<void>
  /**
   * Called where a page would be shown to somebody who is not signed in, and where a sign-in would begin.
   * @throws ERR_MAINTENANCE while it is on
   */
  refuseNewWork(): Promise<void>
}

/** The row of the table `platform`. */
const KEY = 'maintenance'
/** The database is asked for so long whether it is on, in ms; the login page waits for it. */
const PATIENCE = 2000
/** What browsers are asked to wait, in seconds. */
const RETRY_AFTER = 60

/** @param now the clock, in milliseconds */
export function createMaintenance(db: Database, now: () => number = Date.now): Maintenance {
  const cache = createBriefCache(async (key) => {
    const row = await db.selectFrom('platform').select('value').where('key', '=', key).executeTakeFirst()
    return row?.value === 'on'
  }, now)

  let last = false

  /** While the database is away, what it said last still holds: whoever signs in then is told what is wrong. */
  async function isProbablyOn(): Promise<boolean> {
    try {
      last = await answeredWithin(PATIENCE, cache.get(KEY))
    } catch (error) {
      if (!(error instanceof PlatformError && error.code === 'ERR_DATABASE_UNREACHABLE')) throw error
    }
    return last
  }

  return {
    isOn: () => cache.get(KEY),
    async set(on) {
      await put(db, 'platform', ['key'], { key: KEY, value: on ? 'on' : 'off' })
      cache.forget(KEY)
    },
    async refuseNewWork() {
      if (!(await isProbablyOn())) return
      throw new PlatformError('ERR_MAINTENANCE', 'The platform is in maintenance; try again in a minute.', {
        retryAfter: RETRY_AFTER,
      })
    },
  }
}
