import type { Logger } from 'pino'
import { PlatformError } from '../../runtime/errors.ts'
import type { TelemetryDatabase } from './database/tables.ts'
import { createFairQueue } from './fair-queue.ts'
import type { StoredPoints } from './metric-store.ts'
import { createShares, type Owner } from './shares.ts'

/** The data of one request. `hash` is the hash of its body, `size` the size of its body in bytes. */
export type Incoming = {
  readonly owner: Owner
  readonly hash: string
  readonly size: number
  /** Stores the data; called within a transaction. */
  readonly store: (db: TelemetryDatabase) => Promise<StoredPoints>
}

/** Writes telemetry to the database, several requests per transaction. */
export interface TelemetryWriter {
  /**
   * Resolves when the data is committed. Data that was committed before is not stored again.
   * @throws ERR_THROTTLED if too much data from this environment or organisation is queued
   * @throws ERR_TELEMETRY_BUSY if too much is queued in total, or the database fails
   */
  write(incoming: Incoming): Promise<StoredPoints>
  /**
   * Throws ERR_THROTTLED and ERR_TELEMETRY_BUSY under the same conditions as `write`. Call it before any other work on
   * a request.
   */
  needRoom(owner: Owner, size: number): void
  /** Resolves when the queue is empty. */
  flush(): Promise<void>
}

export type WriterParts = {
  readonly db: TelemetryDatabase
  readonly log: Pick<Logger, 'error'>
  /** Called after a transaction was rolled back. */
  readonly undone: () => void
  /** Called after a transaction was committed. */
  readonly written: () => void
  /** Returns the current time, in epoch ms. */
  readonly now?: () => number
}

/**
 * Maximum requests per transaction, and maximum total size of their bodies in bytes. These limit how long other queries
 * wait.
 */
const AT_ONCE = 32
const MOST_AT_ONCE = 4 * 1024 * 1024
/** Maximum total size of queued bodies, in bytes. */
const MOST_WAITING = { environment: 24 * 1024 * 1024, organisation: 48 * 1024 * 1024, all: 96 * 1024 * 1024 }

const DONE: StoredPoints = { rejected: 0, why: '' }

type Waiting = {
  readonly owner: Owner
  readonly incoming: Incoming
  readonly resolve: (stored: StoredPoints) => void
  readonly reject: (error: Error) => void
}

export function createTelemetryWriter({ db, log, undone, written, now = Date.now }: WriterParts): TelemetryWriter {
  const waiting = createFairQueue<Waiting>()
  const shares = createShares(MOST_WAITING)
  let running: Promise<void> | null = null

  function next(): readonly Waiting[] {
    const taken: Waiting[] = []
    let room = MOST_AT_ONCE
    while (taken.length < AT_ONCE) {
      const one = waiting.next(({ incoming }) => taken.length === 0 || incoming.size <= room)
      if (one === null) break
      taken.push(one)
      room -= one.incoming.size
    }
    return taken
  }

  async function store(
    transaction: TelemetryDatabase,
    { owner: { id: environment }, hash, store: storeOwn }: Incoming,
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
      // Retry each request in a separate transaction, so that one bad request doesn't make the others fail.
      if (group.length > 1) for (const one of group) await writeGroup([one])
      else group[0]?.reject(notTaken(error))
    }
  }

  function notTaken(error: unknown): Error {
    log.error({ stack: (error as Error).stack }, 'telemetry could not be stored')
    return new PlatformError(
      'ERR_TELEMETRY_BUSY',
      'The control center cannot store telemetry at the moment. Try again later.',
      {},
      { cause: error },
    )
  }

  async function run(): Promise<void> {
    for (let group = next(); group.length > 0; group = next()) {
      const start = performance.now()
      await writeGroup(group)
      const time = performance.now() - start
      const bytes = group.reduce((sum, { incoming }) => sum + incoming.size, 0)
      for (const { owner, incoming } of group) {
        shares.count(owner, -incoming.size)
        waiting.used(owner, (time * incoming.size) / Math.max(1, bytes))
      }
    }
    running = null
  }

  return {
    needRoom: shares.need,
    write(incoming) {
      const { owner, size } = incoming
      shares.need(owner, size)
      shares.count(owner, size)
      return new Promise((resolve, reject) => {
        waiting.add({ owner, incoming, resolve, reject })
        running ??= run()
      })
    },
    flush: async () => void (await running),
  }
}
