import { type FileHandle, open } from 'node:fs/promises'

/** Flushes a file to disk (fsync) in a thread. */
export interface FileSync {
  /** Resolves when everything written before the call is on disk; concurrent calls share one sync. */
  sync(): Promise<void>
  close(): Promise<void>
}

/** @param file opened at the first sync; it must not be replaced after that */
export function createFileSync(file: string): FileSync {
  let handle: FileHandle | null = null
  let running: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null

  async function run(before: Promise<void>): Promise<void> {
    // Ignore errors of the previous sync, because its callers have received them.
    await before.catch(() => {})
    next = null
    handle ??= await open(file, 'r+')
    await handle.datasync()
  }

  return {
    sync() {
      if (next === null) {
        next = run(running)
        running = next
      }
      return next
    },
    async close() {
      await running.catch(() => {})
      await handle?.close()
      handle = null
    },
  }
}
