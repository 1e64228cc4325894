import type { Logger } from 'pino'
import { PlatformError } from '../../runtime/errors.ts'
import type { TelemetryDatabase } from './database/tables.ts'
import { createFairQueue } from './fair-queue.ts'
import type { StoredPoints } from './metric-store.ts'
import { createShares, type Owner } from './shares.ts'

/** What one request of a Satellite brings. `hash`: of its body; `size`: of it, in bytes. */
export type Incoming = {
  readonly owner: Owner
  readonly hash: string
  readonly size: number
  /** Stores what it brings, within a transaction. */
  readonly store: (db: TelemetryDatabase) => Promise<StoredPoints>
}

/** Brings telemetry into the database, several requests in one transaction. */
export interface TelemetryWriter {
  /**
   * Resolves when it is committed, or was before: then nothing is stored a second time.
   * @throws ERR_THROTTLED when too much of this environment or organisation waits
   * @throws ERR_TELEMETRY_BUSY when too much waits at all, or the database does not take it
   */
  write(incoming: Incoming): Promise<StoredPoints>
  /** The same refusals, before something else is done with a request. */
  needRoom(owner: Owner, size: number): void
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
      // One that cannot be stored is not the others' fault.
      if (group.length > 1) for (const one of group) await writeGroup([one])
      else group[0]?.reject(notTaken(error))
    }
  }

  function notTaken(error: unknown): Error {
    log.error({ stack: (error as Error).stack }, 'telemetry could not be stored')
    return new PlatformError('ERR_TELEMETRY_BUSY', 'The telemetry cannot be stored now.', {}, { cause: error })
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
