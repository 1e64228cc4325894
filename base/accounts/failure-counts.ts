import type { Database } from '../database/open.ts'

/** Failures are written with others of this time, in ms, never while the one who failed waits for the answer. */
const BATCH_TIME = 50
/** Users whose failures wait for being written; while the database is away no more are counted. */
const MOST_WAITING = 10_000

export type FailureCounts = ReturnType<typeof createFailureCounts>

/**
 * Counts refused passwords. They are written together, after the answer: to write at once would tell by the time that it
 * takes which names there are.
 */
export function createFailureCounts(db: Database) {
  const waiting = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()

  function flush(): Promise<void> {
    if (timer) clearTimeout(timer)
    timer = null
    // In one order on every host, so that no two of them wait for each other.
    const counts = [...waiting].sort()
    waiting.clear()
    // What cannot be written is lost: the count informs the operator, the throttle protects the account.
    if (counts.length > 0) writing = writing.then(() => write(counts)).catch(() => {})
    return writing
  }

  async function write(counts: readonly (readonly [string, number])[]): Promise<void> {
    await db.transaction().execute(async (transaction) => {
      for (const [uid, count] of counts) {
        await transaction
          .updateTable('users')
          .set((column) => ({ failed_count: column('failed_count', '+', count) }))
          .where('uid', '=', uid)
          .execute()
      }
    })
  }

  return {
    note(uid: string): void {
      if (waiting.size >= MOST_WAITING) return
      waiting.set(uid, (waiting.get(uid) ?? 0) + 1)
      timer ??= setTimeout(() => void flush(), BATCH_TIME)
      timer.unref()
    },
    forget: (uid: string): void => void waiting.delete(uid),
    flush,
  }
}
