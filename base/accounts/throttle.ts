import { hash } from 'node:crypto'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { answeredWithin, SHORT_ANSWER } from '../database/answered-within.ts'
import type { Database } from '../database/open.ts'
import { insertOnce } from '../database/portable.ts'
import { networkOf } from '../http/network.ts'
import { cachedByText } from '../program/by-text.ts'
import { normalized } from '../program/normalized.ts'
import { type Counted, type Counter, createMemoryCounter } from './memory-counter.ts'
import { isSourceAway } from './source-away.ts'
import { usernameKey } from './username.ts'

/** A sign-in attempt. `source` is the account's source, and `address` is the client's IP address. */
export type Attempt = { readonly source: string; readonly username: string; readonly address: string }

/** Limits the rate of sign-in attempts. */
export interface Throttle {
  /**
   * Counts an attempt before anything is checked, so that parallel guesses are all counted.
   * @param isKnown whether the browser signed in to this account before; if so, the account's counters don't apply
   * @returns null if the attempt may continue; otherwise the seconds until the next attempt is allowed
   */
  count(attempt: Attempt, isKnown: boolean): Promise<number | null>
  /**
   * Refunds a successful attempt. Failed attempts still count: several accounts can share a counter, for example the
   * users of a solution who have the same name in different tenants.
   */
  succeeded(attempt: Attempt, isKnown: boolean): Promise<void>
  /**
   * Removes an attempt from the account's counters, because its password wasn't checked. The network's counter still
   * includes the attempt, because it used the host's time.
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

/**
 * Checks the credentials of a counted attempt. If it turns out that they can't be checked now, the attempt doesn't count
 * towards the account's limits.
 * @throws any error of `check`
 */
export async function checkCounted<T>(
  throttle: Pick<Throttle, 'gaveNothing'>,
  attempt: Attempt,
  isKnown: boolean,
  check: () => Promise<T>,
): Promise<T> {
  try {
    return await check()
  } catch (error) {
    const isBusy = error instanceof PlatformError && error.code === 'ERR_PASSWORDS_BUSY'
    if (isBusy || isSourceAway(error)) await throttle.gaveNothing(attempt, isKnown)
    throw error
  }
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
      if (isOn()) await counter.add(account, -1)
    },
  }
}

function createCounter(
  db: Database,
  limits: Limits,
  isShared: boolean,
  keyPrefix: string,
  points: number,
): LimitedCounter {
  // Use whole seconds, as in `Retry-After`.
  const duration = Math.ceil(limits.THROTTLE_WINDOW / 1000) * 1000
  const counter = isShared ? databaseCounter(db, keyPrefix, duration) : createMemoryCounter(duration)
  return { ...counter, points }
}

/** @returns null if the attempt may continue; otherwise the seconds until the next attempt is allowed */
async function waitOf(counter: LimitedCounter, key: string): Promise<number | null> {
  const counting = counter.add(key, 1)
  const { points, expires_at } = counting instanceof Promise ? await answeredWithin(SHORT_ANSWER, counting) : counting
  if (points <= counter.points) return null
  return Math.max(Math.ceil((expires_at - Date.now()) / 1000), 1)
}

/**
 * @param isShared whether other hosts use the same database. If so, the counters are stored in it. Chosen here:
 * otherwise they are in memory, which saves a write per sign-in. A restart then clears them.
 * @param isOn called at each attempt, because end-to-end tests turn the throttle off
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
   * Returns the counters for an attempt, in the order in which they are checked, each with the attempt's key. If a
   * counter rejects the attempt, the later ones don't count it, because no password is checked. One network therefore
   * can't lock an account for everyone. A network that has reached its limit also can't create more rows.
   */
  function countersOf({ source, username, address }: Attempt, isKnown: boolean) {
    const from = networkOf(address)
    const who = accountHash(source, directoryKey(username))
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
      for (const { counter, key } of countersOf(attempt, isKnown)) await counter.add(key, -1)
    },
    async gaveNothing(attempt, isKnown) {
      if (!isOn()) return
      for (const { counter, key } of countersOf(attempt, isKnown)) {
        if (counter !== network) await counter.add(key, -1)
      }
    },
    async sweep() {
      await db.deleteFrom('throttle').where('expires_at', '<', Date.now()).execute()
    },
  }
}

/** Accents and invisible characters. */
const IGNORED = /[\p{Mn}\p{Default_Ignorable_Code_Point}]/gu

/**
 * Names that a directory may treat as one account share a counter. Otherwise, guesses with other spellings of a name
 * would be counted separately. Directories ignore repeated spaces and invisible characters (RFC 4518, sections 2.2 and
 * 2.6.1), and compare without case. Active Directory also ignores accents.
 */
export function directoryKey(username: string): string {
  // Also remove marks before normalising, because a long run of them would prevent it (see `normalized`).
  const plain = usernameKey(username.replace(IGNORED, ''))
  const folded = normalized(plain, 'NFKD').toUpperCase().toLowerCase()
  return folded.replace(IGNORED, '').replace(/\s+/g, ' ')
}

/** The users table treats names with the same key as one account. */
function accountKey(username: string): string {
  return usernameKey(username).slice(0, 200)
}

/** Identifies an account without revealing its name. Used in the counters and in the cookie of a known browser. */
export function accountHash(source: string, username: string): string {
  return accountHashOf(`${source}\n${username}`)
}

/** Cached, because a sign-in needs the hash several times. */
const accountHashOf = cachedByText(100, (account) => {
  const end = account.indexOf('\n')
  return hash('sha256', `${account.slice(0, end)}\n${accountKey(account.slice(end + 1))}`, 'base64url')
})

/** `points` is the limit. Further attempts are rejected. */
type LimitedCounter = Counter & { readonly points: number }

/**
 * A counter in the platform's database. Works with every kind of database. Libraries for rate limits support only one
 * kind each, and open their own connections.
 * @param duration in ms
 */
function databaseCounter(db: Database, keyPrefix: string, duration: number): Counter {
  const keyOf = (key: string) => `${keyPrefix}:${key}`

  /**
   * Increments in one statement and reads in the same transaction, so that no two attempts see the same count.
   * @returns null if there was no row to increment; another host may have inserted one since
   */
  function increment({ key, points, expires_at }: Counted & { readonly key: string }): Promise<Counted | null> {
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

  return {
    async add(key, points) {
      const fresh = { key: keyOf(key), points, expires_at: Date.now() + duration }
      for (;;) {
        const counted = (await increment(fresh)) ?? ((await insertOnce(db, 'throttle', fresh)) ? fresh : null)
        if (counted !== null) return counted
      }
    },
  }
}
