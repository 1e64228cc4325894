import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { markRestore } from './home-lock.ts'

const SQLITE_ENDS = ['', '-wal', '-shm', '-journal']

/**
 * Returns the names of existing files and folders that a restore would replace.
 * @param databases names of embedded databases
 * @param folders names of the folders in the backup
 */
export function occupiedNames(
  home: string,
  databases: readonly string[],
  folders: readonly string[],
): readonly string[] {
  const files = databases.flatMap((name) => SQLITE_ENDS.map((end) => `${name}.sqlite${end}`))
  return [
    ...files.filter((name) => existsSync(join(home, name))),
    ...folders.filter((name) => existsSync(join(home, name)) && !isEmptyFolder(join(home, name))),
  ]
}

function isEmptyFolder(path: string): boolean {
  return statSync(path).isDirectory() && readdirSync(path).length === 0
}

/** A prepared change to PLATFORM_HOME. It renames files on the same disk: either all of them or none. */
export type Replacement = {
  /**
   * If a rename fails, undoes the previous ones. After success, no host can start until `finish` or `undo` is called.
   */
  apply(): void
  undo(): void
  /** @returns the folder with the replaced files; null if there were none */
  finish(): string | null
}

/**
 * @param staged the folder with the files to move into `home`
 * @param names the existing files to move to the new folder `replaced`
 */
export function prepareReplacement(
  home: string,
  staged: string,
  names: readonly string[],
  replaced: string,
): Replacement {
  const moved: (readonly [from: string, to: string])[] = []
  let mark: { end(): void } | null = null
  let hasFolder = false

  function move(from: string, to: string): void {
    renameSync(from, to)
    moved.push([from, to])
  }

  function undo(): void {
    for (const [from, to] of moved.splice(0).reverse()) renameSync(to, from)
    if (hasFolder) rmdirSync(replaced)
    hasFolder = false
    mark?.end()
    mark = null
  }

  return {
    undo,
    apply() {
      const there = names.filter((name) => existsSync(join(home, name)))
      mark = markRestore(home)
      try {
        if (there.length > 0) mkdirSync(replaced, { mode: 0o700 })
        hasFolder = there.length > 0
        for (const name of there) move(join(home, name), join(replaced, name))
        // An empty folder of that name may exist; renaming a folder over it works.
        for (const name of readdirSync(staged)) move(join(staged, name), join(home, name))
      } catch (error) {
        undo()
        throw error
      }
    },
    finish() {
      mark?.end()
      mark = null
      return hasFolder ? replaced : null
    },
  }
}
