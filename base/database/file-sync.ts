import { type FileHandle, open } from 'node:fs/promises'

/** Brings what was written to a file onto the disk, in a thread. */
export interface FileSync {
  /** Resolves when all that was written before is on the disk; calls that wait at the same time share one sync. */
  sync(): Promise<void>
  close(): Promise<void>
}

/** @param file opened at the first sync; it must stay the same file from then on */
export function createFileSync(file: string): FileSync {
  let handle: FileHandle | null = null
  let running: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null

  async function run(before: Promise<void>): Promise<void> {
    // Its failure was told to those who waited for it.
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
