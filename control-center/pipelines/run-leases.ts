import { randomUUID } from 'node:crypto'
import { firstRows, insertOnce } from '../../base/database/portable.ts'
import type { CenterDatabase } from '../database/tables.ts'

/**
 * Which control center on the database performs which run, and which run is at work. A lease ends when it is not renewed in
 * time: then the process that had it is gone, and anybody may take its runs for interrupted.
 */
export interface RunLeases {
  /** Until all that is begun at the same time has ended, others wait here. */
  lockPlaces(transaction: CenterDatabase): Promise<void>
  /** Leases a run to this process. */
  add(transaction: CenterDatabase, run: string): Promise<void>
  /** The run has ended: its lease and its place are free. */
  remove(transaction: CenterDatabase, run: string): Promise<void>
  /** @returns false when the lease goes on */
  removeEnded(transaction: CenterDatabase, run: string): Promise<boolean>
  /** Where no other process is on the database: nobody performs what an earlier one left. */
  endAll(): Promise<void>
  /** Renews those of these runs that this process still has. @returns them, and whether somebody wants the run cancelled */
  renew(runs: readonly string[]): Promise<ReadonlyMap<string, { readonly isCancelled: boolean }>>
  /** Tells whoever performs the run. @returns false when nobody does */
  askToCancel(run: string): Promise<boolean>
  /** Takes a place to work, the run that began first before the others. @returns false while there is none */
  takePlace(run: string): Promise<boolean>
}

/** In ms. The clocks of the machines may differ by less than this. */
export const LEASE = 60_000
/** Builders are heavy: others wait for their turn, on whichever machine. */
const PLACES = 1

/** @param now the clock, in epoch milliseconds */
export async function createRunLeases(db: CenterDatabase, now: () => number = Date.now): Promise<RunLeases> {
  const node = randomUUID()
  for (let place = 1; place <= PLACES; place++) await insertOnce(db, 'run_places', { place, run: null, until: 0 })

  /** Those that wait for a place and are leased to somebody, the first to begin first. */
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
