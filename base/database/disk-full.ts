import { PlatformError } from '../../runtime/errors.ts'
import type { DatabaseKind } from './kind.ts'
import { KINDS } from './kinds.ts'

/** Whether the disk, the account's quota or the database server's storage is full. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return true
  return Object.values<DatabaseKind>(KINDS).some((kind) => kind.isFull(error)) || isDiskFull(error.cause)
}

/** @param where the file or database that could not be written, for the error message */
export function diskFull(where: string, cause: unknown): PlatformError {
  const advice = 'Free some space or make the disk larger, then try again.'
  return new PlatformError('ERR_DISK_FULL', `There is no space left on the disk for ${where}. ${advice}`, {}, { cause })
}
