import { type FSWatcher, statSync, watch } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '../../base/terminal/command.ts'
import { foldersOfSolution, isLeftOut } from '../solution-folder.ts'

export interface FolderWatch {
  /** Number of watched folders: the solution's folder and its subfolders. */
  readonly count: () => number
  close(): void
}

export type FolderEvents = {
  /** Called once per debounced group of changes. @param since when the group began, as a `performance.now` time */
  readonly changed: (since: number) => void
  /** Called when the folder itself was removed. */
  readonly gone: () => void
  /** Called when a subfolder can't be watched. The other folders are still watched. */
  readonly failed: (problem: Error) => void
}

type WatchedFolder = { readonly watcher: FSWatcher; readonly identity: string }

/** Debounce delay in ms. Editors write a file in several steps, and tools write many files together. */
const QUIET = 30
/** Maximum time in ms until changes are reported, even if more keep arriving. */
const LONGEST_BURST = 250

const MORE_WATCHES = 'On Linux, raise fs.inotify.max_user_watches and fs.inotify.max_user_instances with sysctl.'

/**
 * Watches each folder of a solution separately, and so notices new files, removed files, and files that an editor
 * replaces. Folders that are not part of the solution (`.solhost`, `node_modules`) are never watched.
 * @throws CommandError if the system's limit of watches is reached
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
      // The folder was removed. Its parent's watcher reports that too.
      watcher.on('error', () => noted())
      watched.set(folder, { watcher, identity })
    } catch (error) {
      const { code = '', message: why } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') return
      const isUsedUp = code === 'ENOSPC' || code === 'EMFILE'
      const advice = isUsedUp ? MORE_WATCHES : 'Give the account that runs this command read access to it.'
      throw new CommandError('failed', `Cannot watch the folder "${join(path, folder)}": ${why}. ${advice}`)
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
    // Watch new folders before reporting the change. Later changes in them are then noticed, and earlier ones are read
    // with the folder.
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

/**
 * Identifies a folder. The result changes if the folder is removed and created again, because the old watcher doesn't
 * watch the new folder.
 */
function identityOf(folder: string): string {
  const found = statSync(folder, { throwIfNoEntry: false })
  return found === undefined ? '' : `${found.ino} ${found.birthtimeMs}`
}
