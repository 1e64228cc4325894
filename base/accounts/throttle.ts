import { createHash } from 'node:crypto'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Limits } from '../../runtime/limits.ts'
import { answeredWithin, SHORT_ANSWER } from '../database/answered-within.ts'
import { deletedAny } from '../database/deleted-any.ts'
import type { Database } from '../database/open.ts'
import { insertOnce } from '../database/portable.ts'
import { networkOf } from '../http/network.ts'
import { usernameKey } from './username.ts'

/** A sign-in attempt. `source` says where the account comes from; `address` is the client's network address. */
export type Attempt = { readonly source: string; readonly username: string; readonly address: string }

/** Limits the rate of sign-in attempts. */
export interface Throttle {
  /**
   * Counts an attempt before anything is checked, so that parallel guesses all count.
   * @param isKnown whether the browser signed in to this account before; if so, the account's counters don't apply
   * @returns null if the attempt may continue; otherwise the seconds until the next attempt is allowed
   */
  count(attempt: Attempt, isKnown: boolean): Promise<number | null>
  /** Refunds a successful attempt. */
  succeeded(attempt: Attempt, isKnown: boolean): Promise<void>
  /**
   * Removes an attempt whose password wasn't checked from the account's counters. The network's counter still counts
   * it, because such an attempt takes time too.
   */
  gaveNothing(attempt: Attempt, isKnown: boolean): Promise<void>
  /** Deletes expired counters. */
  sweep(): Promise<void>
}

/** Limits the rate of wrong codes per account, across all networks. */
export interface FactorThrottle {
  /** Same as in `Throttle`. @param account the id of a factor account */
  count(account: string): Promise<number | null>
  /** Refunds a successful attempt. */
  succeeded(account: string): Promise<void>
}

/** @param isShared, isOn as in `createThrottle` */
export function createFactorThrottle(
  db: Database,
  limits: Limits,
  isShared: boolean,
  isOn: () => boolean = () => true,
): FactorThrottle {
  const counter = createCounter(db, limits, isShared, 'f', limits.THROTTLE_FACTOR)
  return {
    count: async (account) => (isOn() ? waitOf(counter, account) : null),
    async succeeded(account) {
      if (isOn()) await counter.reward(account)
    },
  }
}

function createCounter(db: Database, limits: Limits, isShared: boolean, keyPrefix: string, points: number): Counter {
  const duration = Math.ceil(limits.THROTTLE_WINDOW / 1000)
  return isShared
    ? databaseCounter(db, { keyPrefix, points, duration })
    : new RateLimiterMemory({ keyPrefix, points, duration })
}

/** @returns null if the attempt may continue; otherwise the seconds until the next attempt is allowed */
async function waitOf(counter: Counter, key: string): Promise<number | null> {
  try {
    await answeredWithin(SHORT_ANSWER, counter.consume(key))
    return null
  } catch (refused) {
    if (!(refused instanceof RateLimiterRes)) throw refused
    return Math.max(Math.ceil(refused.msBeforeNext / 1000), 1)
  }
}

/**
 * @param isShared whether other hosts use the same database; if so, the counters are stored there. Chosen here:
 * otherwise they are in memory, which saves a write per sign-in; a restart clears them.
 * @param isOn called at each attempt: end-to-end tests turn the throttle off
 */
export function createThrottle(
  db: Database,
  limits: Limits,
  isShared: boolean,
  isOn: () => boolean = () => true,
): Throttle {
  const counter = (keyPrefix: string, points: number) => createCounter(db, limits, isShared, keyPrefix, points)
  const accountAndNetwork = counter('an', limits.THROTTLE_ACCOUNT_NETWORK)
  const account = counter('a', limits.THROTTLE_ACCOUNT)
  const network = counter('n', limits.THROTTLE_NETWORK)

  /**
   * Returns the counters that apply to an attempt, with its key in each, in the order in which they are checked. If one
   * rejects an attempt, the later ones don't count it, since no password was checked. So one network can't lock an
   * account for everyone, and a network that has reached its limit doesn't create more rows.
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
        const wait = await waitOf(counter, key)
        if (wait !== null) return wait
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

/** Names that the users table treats as one account share a counter. */
export function accountKey(username: string): string {
  return usernameKey(username).slice(0, 200)
}

/** Identifies an account in the counters and in the cookie of a known browser, without revealing its name. */
export function accountHash(source: string, username: string): string {
  return createHash('sha256')
    .update(`${source}\n${accountKey(username)}`)
    .digest('base64url')
}

type Counted = { readonly points: number; readonly expires_at: number }

/** The part of the library's counter interface that is used here. */
type Counter = Pick<RateLimiterMemory, 'consume' | 'reward' | 'delete'>

/**
 * A counter in the platform's database, for every kind of database. The library's counters each support only one kind
 * and open their own connections.
 */
function databaseCounter(
  db: Database,
  options: { readonly keyPrefix: string; readonly points: number; readonly duration: number },
): Counter {
  const keyOf = (key: string | number) => `${options.keyPrefix}:${key}`

  /**
   * Increments in one statement and reads in the same transaction, so that no two attempts see the same count.
   * @returns null if there is no row; a row that another host inserts before the read doesn't include this attempt
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
