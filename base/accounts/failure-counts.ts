import type { Database } from '../database/open.ts'

/**
 * Failures are batched for this long, in ms. They are written in the background, so that no response waits for them.
 */
const BATCH_TIME = 50
/** Maximum number of users with unwritten failures. Above it, failures aren't counted. */
const MOST_WAITING = 10_000

export type FailureCounts = ReturnType<typeof createFailureCounts>

/**
 * Counts rejected passwords. The counts are written in batches, after the response, because the duration of an
 * immediate write would reveal which usernames exist.
 */
export function createFailureCounts(db: Database) {
  const waiting = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()

  function flush(): Promise<void> {
    if (timer) clearTimeout(timer)
    timer = null
    // Every host writes in the same order, so that two hosts can't deadlock.
    const counts = [...waiting].sort()
    waiting.clear()
    // Counts that can't be written are lost. They only inform the operator, while the throttle protects the account.
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
