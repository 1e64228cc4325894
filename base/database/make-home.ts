import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'

/**
 * Errors that mean that the path itself is wrong, so that a different account or mount would not help. All other errors
 * are explained during startup.
 */
const WRONG_PLACE: ReadonlySet<unknown> = new Set(['ENOTDIR', 'EEXIST', 'ENOENT', 'ELOOP', 'ENAMETOOLONG', 'EINVAL'])

/**
 * Returns the folder `PLATFORM_HOME`. If it is missing, creates it so that only this account can access it.
 * @throws ERR_SETTINGS_INVALID if the folder cannot exist there
 */
export function makeHome(home: string): void {
  try {
    makeFolder(home)
  } catch (error) {
    if (!WRONG_PLACE.has((error as NodeJS.ErrnoException).code)) throw error
    throw new PlatformError(
      'ERR_SETTINGS_INVALID',
      `Cannot create the PLATFORM_HOME folder ${home}: ${(error as Error).message}. Set PLATFORM_HOME to another folder.`,
      {},
      { cause: error },
    )
  }
}

/** Doesn't use `recursive`, because Node.js would then retry forever below /proc. */
function makeFolder(path: string): void {
  if (isFolder(path)) return
  makeFolder(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another host has created the folder at the same time.
    if (!isFolder(path)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
