import { realpathSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'
import type { Saved } from './saved.ts'

/**
 * A backup among what it saves would be read while it is written: it would hold a piece of itself, or never end.
 * @throws ERR_BACKUP_FAILED for a file below a folder that is saved, by links too
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
    `${file} cannot be made: the backup saves the folder ${join(home, folder)}, and would read itself. Name a file outside of it.`,
  )
}

/** Null: there is no such folder, which whoever opens it says better. */
function real(folder: string): string | null {
  try {
    return realpathSync(folder)
  } catch {
    return null
  }
}
