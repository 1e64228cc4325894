import { setImmediate } from 'node:timers/promises'
import { deleteInPages, PAGE } from '../../base/database/delete-in-pages.ts'
import { firstRows } from '../../base/database/portable.ts'
import type { Limits } from '../../runtime/limits.ts'
import { solutionsIn } from '../database/solutions-in.ts'
import type { HostDatabase } from '../database/tables.ts'

/** Deletes lines of the solutions' logs. A solution's lines have ascending ids, so the oldest one has the lowest id. */
export interface LogRetention {
  /** Removes lines that exceed `LOG_KEPT` and `LOG_KEPT_SIZE`. */
  sweep(): Promise<void>
  /** Deletes all lines of a solution. */
  erase(solution: string): Promise<void>
}

/** The estimated size of a line's other columns, in bytes. */
export const LINE_SIZE = 100

type Line = { readonly id: number; readonly time: number }

export function createLogRetention(db: HostDatabase, limits: Limits, now: () => number): LogRetention {
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
    const last = await newestOver(solution)
    await deleteOldest(solution, ({ id }) => id <= last)
  }

  return {
    async sweep() {
      const oldest = now() - limits.LOG_KEPT
      for await (const solution of solutionsIn(db, 'solution_log')) {
        await deleteOldest(solution, ({ time }) => time < oldest)
        await limitSize(solution)
        // Reading doesn't let the process do other work if the database is embedded.
        await setImmediate()
      }
    },
    erase: (solution) => deleteOldest(solution, () => true),
  }
}
