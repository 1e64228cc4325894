import { randomUUID } from 'node:crypto'
import { firstRows, insertOnce } from '../../base/database/portable.ts'
import type { CenterDatabase } from '../database/tables.ts'

/**
 * A lease shows which of the control centers that share a database performs a run. A run needs a slot before its steps
 * may start. A lease expires if its process doesn't renew it. Other processes then assume that it has exited, and may
 * mark its runs as interrupted.
 */
export interface RunLeases {
  /** Lets only one run start at a time. If other transactions are starting runs, waits until they have ended. */
  lockPlaces(transaction: CenterDatabase): Promise<void>
  /** Leases a run to this process. */
  add(transaction: CenterDatabase, run: string): Promise<void>
  /** Releases the lease and the slot of a run that has ended. */
  remove(transaction: CenterDatabase, run: string): Promise<void>
  /** Removes a run's lease if it has expired. @returns false if the lease is still valid */
  removeEnded(transaction: CenterDatabase, run: string): Promise<boolean>
  /**
   * Expires all leases, including those left by an earlier process. Call this only if no other process uses the
   * database.
   */
  endAll(): Promise<void>
  /** Renews all valid leases of this process. @returns its leased runs, and whether a cancel was requested for each */
  renew(runs: readonly string[]): Promise<ReadonlyMap<string, { readonly isCancelled: boolean }>>
  /**
   * Asks the process that performs the run to cancel it.
   * @returns false if no process performs it
   */
  askToCancel(run: string): Promise<boolean>
  /**
   * Takes a slot for a run. Runs get slots in the order in which they were started.
   * @returns false if it isn't this run's turn or no slot is free
   */
  takePlace(run: string): Promise<boolean>
}

/** Duration of a lease in ms. The clocks of the control centers' machines must not differ by more than this. */
export const LEASE = 60_000
/**
 * Maximum number of runs in progress at the same time, over all machines. Builders need a lot of resources, so other
 * runs are queued.
 */
const PLACES = 1

/** @param now returns the current time in epoch milliseconds */
export async function createRunLeases(db: CenterDatabase, now: () => number = Date.now): Promise<RunLeases> {
  const node = randomUUID()
  for (let place = 1; place <= PLACES; place++) await insertOnce(db, 'run_places', { place, run: null, until: 0 })

  /** The oldest run that has a lease but no slot. */
  async function firstWaiting(): Promise<string | undefined> {
    const waiting = db
      .selectFrom('run_leases')
      .innerJoin('pipeline_runs', 'pipeline_runs.id', 'run_leases.run')
      .select('run_leases.run')
      .where('run_leases.until', '>=', now())
      .where('run_leases.cancelled', '=', 0)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('run_places').select('place').whereRef('run_places.run', '=', 'run_leases.run'))),
      )
      .orderBy('pipeline_runs.started_at')
      .orderBy('pipeline_runs.id')
    return (await firstRows(db, waiting, 1).executeTakeFirst())?.run
  }

  return {
    async lockPlaces(transaction) {
      await transaction
        .updateTable('run_places')
        .set((ref) => ({ until: ref.ref('until') }))
        .where('place', '=', 1)
        .execute()
    },
    async add(transaction, run) {
      await transaction
        .insertInto('run_leases')
        .values({ run, node, until: now() + LEASE, cancelled: 0 })
        .execute()
    },
    async remove(transaction, run) {
      await transaction.updateTable('run_places').set({ run: null, until: 0 }).where('run', '=', run).execute()
      await transaction.deleteFrom('run_leases').where('run', '=', run).execute()
    },
    async removeEnded(transaction, run) {
      const ended = transaction.deleteFrom('run_leases').where('run', '=', run).where('until', '<', now())
      return (await ended.executeTakeFirst()).numDeletedRows > 0n
    },
    async endAll() {
      await db.updateTable('run_leases').set({ until: 0 }).execute()
      await db.updateTable('run_places').set({ run: null, until: 0 }).execute()
    },
    async renew(runs) {
      const until = now() + LEASE
      const own = db
        .updateTable('run_leases')
        .set({ until })
        .where('node', '=', node)
        .where('run', 'in', [...runs])
      await own.execute()
      await db
        .updateTable('run_places')
        .set({ until })
        .where('run', 'in', [...runs])
        .execute()
      const leases = await db.selectFrom('run_leases').select(['run', 'cancelled']).where('node', '=', node).execute()
      return new Map(leases.map(({ run, cancelled }) => [run, { isCancelled: cancelled === 1 }]))
    },
    async askToCancel(run) {
      const lease = db.updateTable('run_leases').set({ cancelled: 1 }).where('run', '=', run)
      return (await lease.executeTakeFirst()).numUpdatedRows > 0n
    },
    async takePlace(run) {
      if ((await firstWaiting()) !== run) return false
      for (let place = 1; place <= PLACES; place++) {
        const { numUpdatedRows } = await db
          .updateTable('run_places')
          .set({ run, until: now() + LEASE })
          .where('place', '=', place)
          .where('until', '<', now())
          .executeTakeFirst()
        if (numUpdatedRows > 0n) return true
      }
      return false
    },
  }
}
