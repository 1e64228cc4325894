import { setImmediate } from 'node:timers/promises'
import { deleteInPages, PAGE } from '../../base/database/delete-in-pages.ts'
import { firstRows } from '../../base/database/portable.ts'
import type { Limits } from '../../runtime/limits.ts'
import { solutionsIn } from '../database/solutions-in.ts'
import type { HostDatabase } from '../database/tables.ts'

/** Deletes lines of the solutions' logs. A solution's lines have ascending ids, so the oldest one has the lowest id. */
export interface LogRetention {
  /** Must be called with all lines that this host has stored. If a log has grown a lot, its size is checked soon. */
  stored(lines: readonly { readonly solution: string; readonly size: number }[]): void
  /** Removes lines that exceed `LOG_KEPT` and `LOG_KEPT_SIZE`. */
  sweep(): Promise<void>
  /** Deletes all lines of a solution. */
  erase(solution: string): Promise<void>
}

/** The estimated size of a line's other columns, in bytes. */
const LINE_SIZE = 100

/**
 * A log's size is checked when this host has added this share of `LOG_KEPT_SIZE`. A check reads the lines that fit into
 * `LOG_KEPT_SIZE`, so this host reads at most 5 lines per stored line, and a log exceeds the limit by about a quarter.
 */
const GROWTH = 1 / 4

type Line = { readonly id: number; readonly time: number }

export function createLogRetention(db: HostDatabase, limits: Limits, now: () => number): LogRetention {
  const growth = limits.LOG_KEPT_SIZE * GROWTH
  /** Bytes that this host has added to each log since the last check of its size. */
  const grown = new Map<string, number>()
  const queued = new Set<string>()
  let checking: Promise<void> = Promise.resolve()
  let isEachChecked = false
  const linesOf = (solution: string) => db.selectFrom('solution_log').where('solution', '=', solution)

  /** Deletes the oldest lines, up to the last one that is expired. */
  function deleteOldest(solution: string, isExpired: (line: Line) => boolean): Promise<void> {
    const oldest = linesOf(solution).select(['id', 'time']).orderBy('id')
    const remove = db.deleteFrom('solution_log').where('solution', '=', solution)
    return deleteInPages(
      (count) => firstRows(db, oldest, count).execute(),
      ({ id }) => remove.where('id', '<=', id).execute(),
      isExpired,
    )
  }

  /** Returns the id of the newest line that exceeds `LOG_KEPT_SIZE`; 0 if there is none. */
  async function newestOver(solution: string): Promise<number> {
    let room = limits.LOG_KEPT_SIZE
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const newest = linesOf(solution).select(['id', 'size']).where('id', '<', before).orderBy('id', 'desc')
      const lines = await firstRows(db, newest, PAGE).execute()
      for (const { id, size } of lines) {
        room -= size + LINE_SIZE
        if (room < 0) return id
        before = id
      }
      if (lines.length < PAGE) return 0
      await setImmediate()
    }
  }

  async function limitSize(solution: string): Promise<void> {
    const counted = grown.get(solution) ?? 0
    const last = await newestOver(solution)
    await deleteOldest(solution, ({ id }) => id <= last)
    // Lines that were added during the check count for the next one.
    grown.set(solution, (grown.get(solution) ?? 0) - counted)
  }

  /** Checks one log at a time, so that the host has time for its other work. */
  function limitSizeInTurn(solution: string): Promise<void> {
    const check = checking.then(() => limitSize(solution))
    checking = check.catch(() => {})
    return check
  }

  async function checkSoon(solution: string): Promise<void> {
    if (queued.has(solution)) return
    queued.add(solution)
    // After an error, the next stored lines or the next sweep start another check.
    await limitSizeInTurn(solution).catch(() => {})
    queued.delete(solution)
  }

  return {
    stored(lines) {
      for (const { solution, size } of lines) {
        const bytes = (grown.get(solution) ?? 0) + size + LINE_SIZE
        grown.set(solution, bytes)
        if (bytes >= growth) void checkSoon(solution)
      }
    },
    async sweep() {
      const oldest = now() - limits.LOG_KEPT
      for await (const solution of solutionsIn(db, 'solution_log')) {
        await deleteOldest(solution, ({ time }) => time < oldest)
        // Earlier processes may have stored lines without a check.
        if (!isEachChecked || (grown.get(solution) ?? 0) >= growth) await limitSizeInTurn(solution)
        // Reading doesn't let the process do other work if the database is embedded.
        await setImmediate()
      }
      isEachChecked = true
    },
    async erase(solution) {
      await deleteOldest(solution, () => true)
      grown.delete(solution)
    },
  }
}
