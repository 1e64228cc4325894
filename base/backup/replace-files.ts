import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { markRestore } from './home-lock.ts'

const SQLITE_ENDS = ['', '-wal', '-shm', '-journal']

/** What would give way to a backup, by name. @param databases names of the embedded ones @param folders that it holds */
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

/** A change of PLATFORM_HOME that is prepared: made by renames within one disk, all of them or none. */
export type Replacement = {
  /** Where one rename fails, those before it are undone. From then on no host starts, until `finish` or `undo`. */
  apply(): void
  undo(): void
  /** @returns the folder of what was there; null where there was nothing */
  finish(): string | null
}

/**
 * @param staged holds what comes into `home`
 * @param names what gives way there, into the new folder `replaced`
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
        // An empty folder that is there does not hold up the one that comes.
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
