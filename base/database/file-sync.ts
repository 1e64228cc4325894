import { type FileHandle, open } from 'node:fs/promises'

/** Flushes a file to disk (fsync) in a thread. */
export interface FileSync {
  /** Resolves when everything that was written before the call is on disk. Concurrent calls share one sync. */
  sync(): Promise<void>
  close(): Promise<void>
}

/** @param file is opened at the first sync, and must not be replaced after that */
export function createFileSync(file: string): FileSync {
  let handle: FileHandle | null = null
  let running: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null

  async function run(before: Promise<void>): Promise<void> {
    // Errors of the previous sync are ignored, because its callers receive them.
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
