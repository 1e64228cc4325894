import { answeredWithin } from '../../base/database/answered-within.ts'
import { put } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { createBriefCache } from '../database/brief-cache.ts'
import type { HostDatabase } from '../database/tables.ts'

/**
 * Maintenance mode blocks new sign-ins, but users who are already signed in can finish. Changes apply on all hosts
 * within 1 s.
 */
export interface Maintenance {
  isOn(): Promise<boolean>
  set(on: boolean): Promise<void>
  /**
   * Call this before showing a page to a user who is not signed in, and before a sign-in starts.
   * @throws ERR_MAINTENANCE while maintenance mode is on
   */
  refuseNewWork(): Promise<void>
}

/** The key of the row in the table `platform`. */
const KEY = 'maintenance'
/** Timeout of the database query in ms. It is short, because the login page waits for the query. */
const PATIENCE = 2000
/** The `Retry-After` header's value, in seconds. */
const RETRY_AFTER = 60

/** @param now the clock, in milliseconds */
export function createMaintenance(db: HostDatabase, now: () => number = Date.now): Maintenance {
  const cache = createBriefCache(async (key) => {
    const row = await db.selectFrom('platform').select('value').where('key', '=', key).executeTakeFirst()
    return row?.value === 'on'
  }, now)

  let last = false

  /** Returns the last known state while the database is unreachable. The sign-in then reports the outage. */
  async function isProbablyOn(): Promise<boolean> {
    try {
      last = cache.cached(KEY) ?? (await answeredWithin(PATIENCE, cache.get(KEY)))
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
      throw new PlatformError('ERR_MAINTENANCE', 'The platform is in maintenance mode. Try again in a minute.', {
        retryAfter: RETRY_AFTER,
      })
    },
  }
}
