import { realpathSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'
import type { Saved } from './saved.ts'

/**
 * Ensures that the backup file is not in a folder that is backed up. Otherwise the backup would include itself, and
 * could grow forever.
 * @throws ERR_BACKUP_FAILED if the file is below such a folder, even through symbolic links
 */
export function refuseTargetInside(home: string, { folders }: Pick<Saved, 'folders'>, file: string): void {
  const target = real(dirname(resolve(file)))
  const folder = folders.find((name) => {
    const saved = real(join(home, name))
    return target !== null && saved !== null && `${target}${sep}`.startsWith(`${saved}${sep}`)
  })
  if (folder === undefined) return
  throw new PlatformError(
    'ERR_BACKUP_FAILED',
    `Cannot create ${file} in ${join(home, folder)}: the backup includes that folder. Choose a file outside it.`,
  )
}

/**
 * Returns the folder's real path; null if it does not exist. The code that opens the folder reports a better error
 * than this function could.
 */
function real(folder: string): string | null {
  try {
    return realpathSync(folder)
  } catch {
    return null
  }
}
