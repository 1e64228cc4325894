import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'

/** Errors that another account or mount would not give; the others are explained where the start fails. */
const WRONG_PLACE: ReadonlySet<unknown> = new Set(['ENOTDIR', 'EEXIST', 'ENOENT', 'ELOOP', 'ENAMETOOLONG', 'EINVAL'])

/**
 * The folder of `PLATFORM_HOME`, created if it is missing, for this account only.
 * @throws ERR_SETTINGS_INVALID where there can be no folder
 */
export function makeHome(home: string): void {
  try {
    makeFolder(home)
  } catch (error) {
    if (!WRONG_PLACE.has((error as NodeJS.ErrnoException).code)) throw error
    throw new PlatformError(
      'ERR_SETTINGS_INVALID',
      `No folder can be created at PLATFORM_HOME, ${home} (${(error as Error).message}). Set it to another folder.`,
      {},
      { cause: error },
    )
  }
}

/** Not with `recursive`: below /proc, Node retries forever. */
function makeFolder(path: string): void {
  if (isFolder(path)) return
  makeFolder(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another host created it at the same time.
    if (!isFolder(path)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
