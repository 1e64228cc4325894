import type { Database } from '../database/open.ts'

/**
 * Time in ms for which failures are collected before they are written in the background. No response waits for that.
 */
const BATCH_TIME = 50
/** Maximum number of users with unwritten failures. Failures of further users aren't counted. */
const MOST_WAITING = 10_000

export type FailureCounts = ReturnType<typeof createFailureCounts>

/**
 * Counts rejected passwords. Writes the counts in batches, after the response. An immediate write would slow down the
 * response for existing users only, which would reveal which usernames exist.
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
    // Counts that can't be written are lost. That is harmless: they only inform the operator. The throttle protects the
    // account.
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
