import { createHash } from 'node:crypto'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Limits } from '../../runtime/limits.ts'
import { answeredWithin, SHORT_ANSWER } from '../database/answered-within.ts'
import { deletedAny } from '../database/deleted-any.ts'
import type { Database } from '../database/open.ts'
import { insertOnce } from '../database/portable.ts'
import { networkOf } from '../http/network.ts'
import { usernameKey } from './username.ts'

/** An attempt to sign in: on which account, of which source, from which network address. */
export type Attempt = { readonly source: string; readonly username: string; readonly address: string }

/** Counts attempts to sign in (design section 8). */
export interface Throttle {
  /**
   * Counts an attempt, before anything of it is checked: parallel guesses cost as many.
   * @param isKnown whether the browser signed in to this account before: then no counter of the account holds for it
   * @returns null when it may go on, else the seconds until the next try
   */
  count(attempt: Attempt, isKnown: boolean): Promise<number | null>
  /** Gives back what an attempt cost that ended well. */
  succeeded(attempt: Attempt, isKnown: boolean): Promise<void>
  /**
   * Gives back to the account what an attempt cost of which nothing was checked. The network's counter keeps it: what
   * cannot be checked takes time as well.
   */
  gaveNothing(attempt: Attempt, isKnown: boolean): Promise<void>
  /** Removes counters whose time is over. */
  sweep(): Promise<void>
}

/**
 * @param isShared whether other hosts use the same database: then the counters are in it. Chosen here: else they are in
 *   memory, where they cost no write for each sign-in; a restart forgets them.
 * @param isOn asked at each attempt: end-to-end tests turn it off
 */
export function createThrottle(
  db: Database,
  limits: Limits,
  isShared: boolean,
  isOn: () => boolean = () => true,
): Throttle {
  const duration = Math.ceil(limits.THROTTLE_WINDOW / 1000)
  const counter = (keyPrefix: string, points: number): Counter =>
    isShared
      ? databaseCounter(db, { keyPrefix, points, duration })
      : new RateLimiterMemory({ keyPrefix, points, duration })
  const accountAndNetwork = counter('an', limits.THROTTLE_ACCOUNT_NETWORK)
  const account = counter('a', limits.THROTTLE_ACCOUNT)
  const network = counter('n', limits.THROTTLE_NETWORK)

  /**
   * The counters that hold for an attempt, with its key in each, the narrowest first. What one of them refuses is not
   * counted by the next: nothing was guessed, so one network alone cannot lock an account for all, and a network that is
   * full makes no further rows.
   */
  function countersOf({ source, username, address }: Attempt, isKnown: boolean) {
    const from = networkOf(address)
    const who = accountHash(source, username)
    const always = [{ counter: network, key: from }]
    if (isKnown) return always
    return [...always, { counter: accountAndNetwork, key: `${who} ${from}` }, { counter: account, key: who }]
  }

  return {
    async count(attempt, isKnown) {
      if (!isOn()) return null
      for (const { counter, key } of countersOf(attempt, isKnown)) {
        try {
          await answeredWithin(SHORT_ANSWER, counter.consume(key))
        } catch (refused) {
          if (!(refused instanceof RateLimiterRes)) throw refused
          return Math.max(Math.ceil(refused.msBeforeNext / 1000), 1)
        }
      }
      return null
    },
    async succeeded(attempt, isKnown) {
      if (!isOn()) return
      for (const { counter, key } of countersOf(attempt, isKnown)) {
        if (counter === accountAndNetwork) await counter.delete(key)
        else await counter.reward(key)
      }
    },
    async gaveNothing(attempt, isKnown) {
      if (!isOn()) return
      for (const { counter, key } of countersOf(attempt, isKnown)) if (counter !== network) await counter.reward(key)
    },
    async sweep() {
      await db.deleteFrom('throttle').where('expires_at', '<', Date.now()).execute()
    },
  }
}

/** Names that may be one account are counted as one, by the rule of the users table; no name stands in the database for it. */
export function accountKey(username: string): string {
  return usernameKey(username).slice(0, 200)
}

/** An account of a source as the counters and the cookie of a known browser name it. */
export function accountHash(source: string, username: string): string {
  return createHash('sha256')
    .update(`${source}\n${accountKey(username)}`)
    .digest('base64url')
}

type Counted = { readonly points: number; readonly expires_at: number }

/** The part of the library's counters that is used here. */
type Counter = Pick<RateLimiterMemory, 'consume' | 'reward' | 'delete'>

/**
 * Such a counter in the platform's database, of whatever kind that is: the library's own are each for one kind of
 * database and bring their own connections.
 */
function databaseCounter(
  db: Database,
  options: { readonly keyPrefix: string; readonly points: number; readonly duration: number },
): Counter {
  const keyOf = (key: string | number) => `${options.keyPrefix}:${key}`

  /**
   * Adds in one statement and reads in the same transaction, so that no two attempts see the same count.
   * @returns null when there is no row: one that another host inserts before the read does not count this attempt
   */
  function add({ key, points, expires_at }: Counted & { readonly key: string }): Promise<Counted | null> {
    return db.transaction().execute(async (transaction) => {
      const now = Date.now()
      const updated = await transaction
        .updateTable('throttle')
        .set((row) => ({
          points: row
            .case()
            .when('expires_at', '<=', now)
            .then(points)
            .else(row('points', '+', points))
            .end(),
          expires_at: row.case().when('expires_at', '<=', now).then(expires_at).else(row.ref('expires_at')).end(),
        }))
        .where('key', '=', key)
        .executeTakeFirst()
      if (updated.numUpdatedRows === 0n) return null
      const read = transaction.selectFrom('throttle').select(['points', 'expires_at']).where('key', '=', key)
      return (await read.executeTakeFirst()) ?? null
    })
  }

  async function count(key: string | number, points: number): Promise<RateLimiterRes> {
    const fresh = { key: keyOf(key), points, expires_at: Date.now() + options.duration * 1000 }
    for (;;) {
      const counted = (await add(fresh)) ?? ((await insertOnce(db, 'throttle', fresh)) ? fresh : null)
      if (counted === null) continue
      const left = Math.max(options.points - counted.points, 0)
      return new RateLimiterRes(left, Math.max(counted.expires_at - Date.now(), 0), counted.points)
    }
  }

  return {
    async consume(key) {
      const counted = await count(key, 1)
      if (counted.consumedPoints > options.points) throw counted
      return counted
    },
    reward: (key, points = 1) => count(key, -points),
    async delete(key) {
      return deletedAny(db.deleteFrom('throttle').where('key', '=', keyOf(key)))
    },
  }
}
