import type { Logger } from 'pino'
import { PlatformError } from '../../runtime/errors.ts'
import type { TelemetryDatabase } from './database/tables.ts'
import type { StoredPoints } from './metric-store.ts'

/** What one request of a Satellite brings. `hash`: of its body; `size`: of it, in bytes. */
export type Incoming = {
  readonly environment: string
  readonly hash: string
  readonly size: number
  /** Stores what it brings, within a transaction. */
  readonly store: (db: TelemetryDatabase) => Promise<StoredPoints>
}

/** Brings telemetry into the database, several requests in one transaction. */
export interface TelemetryWriter {
  /**
   * Resolves when it is committed, or was before: then nothing is stored a second time.
   * @throws ERR_THROTTLED when too much of this environment waits
   * @throws ERR_TELEMETRY_BUSY when too much waits at all, or the database does not take it
   */
  write(incoming: Incoming): Promise<StoredPoints>
  /** The same refusals, before something else is done with a request. */
  needRoom(environment: string, size: number): void
  /** Resolves when nothing waits. */
  flush(): Promise<void>
}

export type WriterParts = {
  readonly db: TelemetryDatabase
  readonly log: Pick<Logger, 'error'>
  /** After a transaction that was undone. */
  readonly undone: () => void
  /** After a commit. */
  readonly written: () => void
  /** The clock, in epoch milliseconds. */
  readonly now?: () => number
}

/** Requests of one transaction, and their bodies together in bytes: what reads next waits for no longer than that. */
const AT_ONCE = 32
const MOST_AT_ONCE = 4 * 1024 * 1024
/** Bodies that wait, in bytes. */
const MOST_WAITING = 96 * 1024 * 1024
const MOST_OF_ENVIRONMENT = 24 * 1024 * 1024

const DONE: StoredPoints = { rejected: 0, why: '' }

type Waiting = {
  readonly incoming: Incoming
  readonly resolve: (stored: StoredPoints) => void
  readonly reject: (error: Error) => void
}

export function createTelemetryWriter({ db, log, undone, written, now = Date.now }: WriterParts): TelemetryWriter {
  let waiting: Waiting[] = []
  let running: Promise<void> | null = null
  let size = 0
  const sizes = new Map<string, number>()

  function count(environment: string, bytes: number): void {
    size += bytes
    const sum = (sizes.get(environment) ?? 0) + bytes
    if (sum === 0) sizes.delete(environment)
    else sizes.set(environment, sum)
  }

  function next(): readonly Waiting[] {
    let bytes = 0
    const index = waiting.findIndex((one, place) => {
      bytes += one.incoming.size
      return place >= AT_ONCE || (place > 0 && bytes > MOST_AT_ONCE)
    })
    const taken = index < 0 ? waiting : waiting.slice(0, index)
    waiting = index < 0 ? [] : waiting.slice(index)
    return taken
  }

  async function store(
    transaction: TelemetryDatabase,
    { environment, hash, store: storeOwn }: Incoming,
  ): Promise<StoredPoints> {
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto('telemetry_batches')
      .values({ environment, hash, time: now() })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 0n ? DONE : storeOwn(transaction)
  }

  function storeAll(group: readonly Waiting[]): Promise<StoredPoints[]> {
    return db.transaction().execute(async (transaction) => {
      const stored: StoredPoints[] = []
      for (const { incoming } of group) stored.push(await store(transaction, incoming))
      return stored
    })
  }

  async function writeGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const stored = await storeAll(group)
      for (const [index, { resolve }] of group.entries()) resolve(stored[index] ?? DONE)
      written()
    } catch (error) {
      undone()
      // One that cannot be stored is not the others' fault.
      if (group.length > 1) for (const one of group) await writeGroup([one])
      else group[0]?.reject(notTaken(error))
    }
  }

  function notTaken(error: unknown): Error {
    log.error({ stack: (error as Error).stack }, 'telemetry could not be stored')
    return new PlatformError('ERR_TELEMETRY_BUSY', 'The telemetry cannot be stored now.', {}, { cause: error })
  }

  function needRoom(environment: string, bytes: number): void {
    if ((sizes.get(environment) ?? 0) + bytes > MOST_OF_ENVIRONMENT) {
      throw new PlatformError('ERR_THROTTLED', 'The environment sends more than can be stored.')
    }
    if (size + bytes > MOST_WAITING) {
      throw new PlatformError('ERR_TELEMETRY_BUSY', 'More telemetry comes than can be stored.')
    }
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const group = next()
      await writeGroup(group)
      for (const { incoming } of group) count(incoming.environment, -incoming.size)
    }
    running = null
  }

  return {
    needRoom,
    write(incoming) {
      const { environment, size: bytes } = incoming
      needRoom(environment, bytes)
      count(environment, bytes)
      return new Promise((resolve, reject) => {
        waiting.push({ incoming, resolve, reject })
        running ??= run()
      })
    },
    flush: async () => void (await running),
  }
}
