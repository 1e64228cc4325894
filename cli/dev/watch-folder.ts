import { type FSWatcher, statSync, watch } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '../../base/terminal/command.ts'
import { foldersOfSolution, isLeftOut } from '../solution-folder.ts'

export interface FolderWatch {
  /** How many folders are watched, that of the solution included. */
  readonly count: () => number
  close(): void
}

export type FolderEvents = {
  /** Once for all that changed in a burst. @param since when that began, as `performance.now` has it */
  readonly changed: (since: number) => void
  /** The folder itself was removed. */
  readonly gone: () => void
  /** A folder in it cannot be watched; what is saved in others is told all the same. */
  readonly failed: (problem: Error) => void
}

type WatchedFolder = { readonly watcher: FSWatcher; readonly identity: string }

/** An editor writes a file in several steps, and a tool many files at once: so long nothing more has to come, in ms. */
const QUIET = 30
/** Who goes on writing is not waited for longer than this, in ms. */
const LONGEST_BURST = 250

const MORE_WATCHES = 'Linux: raise fs.inotify.max_user_watches and fs.inotify.max_user_instances with sysctl.'

/**
 * Watches a solution's folder, each folder in it by itself: new files, removed ones and those that an editor replaces by
 * another show there alike, and what does not belong to the solution (`.solhost`, `node_modules`) is not watched at all.
 * @throws CommandError where the system watches no more
 */
export function watchFolder(path: string, { changed, gone, failed }: FolderEvents): FolderWatch {
  const watched = new Map<string, WatchedFolder>()
  let since: number | null = null
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function look(): void {
    const folders = new Set(foldersOfSolution(path))
    for (const [folder, { watcher, identity }] of watched) {
      if (folders.has(folder) && identityOf(join(path, folder)) === identity) continue
      watcher.close()
      watched.delete(folder)
    }
    for (const folder of folders) if (!watched.has(folder)) start(folder)
  }

  function start(folder: string): void {
    try {
      const identity = identityOf(join(path, folder))
      const watcher = watch(join(path, folder), (_type, name) => {
        if (name === null || !isLeftOut(`${folder}${name}`)) noted()
      })
      // The folder was removed: that of it says so too.
      watcher.on('error', () => noted())
      watched.set(folder, { watcher, identity })
    } catch (error) {
      const { code = '', message: why } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') return
      const isUsedUp = code === 'ENOSPC' || code === 'EMFILE'
      const advice = isUsedUp ? MORE_WATCHES : 'Give this account the right to read it.'
      throw new CommandError('failed', `The folder "${join(path, folder)}" cannot be watched: ${why}. ${advice}`)
    }
  }

  function noted(): void {
    if (isClosed) return
    const now = performance.now()
    since ??= now
    clearTimeout(timer)
    timer = setTimeout(settle, Math.max(0, Math.min(QUIET, since + LONGEST_BURST - now)))
  }

  function settle(): void {
    const began = since ?? performance.now()
    since = null
    // First: what comes into a new folder from here on is noted, and what is in it already is read.
    try {
      look()
    } catch (error) {
      failed(error as Error)
    }
    if (watched.size > 0) changed(began)
    else gone()
  }

  look()
  return {
    count: () => watched.size,
    close() {
      isClosed = true
      clearTimeout(timer)
      for (const { watcher } of watched.values()) watcher.close()
    },
  }
}

/** Another one for a folder that was removed and made again, which its watcher would not see. */
function identityOf(folder: string): string {
  const found = statSync(folder, { throwIfNoEntry: false })
  return found === undefined ? '' : `${found.ino} ${found.birthtimeMs}`
}
