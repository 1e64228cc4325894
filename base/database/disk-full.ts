import { PlatformError } from '../../runtime/errors.ts'
import type { DatabaseKind } from './kind.ts'
import { KINDS } from './kinds.ts'

/** Whether there was no room left: on a disk of this machine, in an account's share of it, or on the database server's. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return true
  return Object.values<DatabaseKind>(KINDS).some((kind) => kind.isFull(error)) || isDiskFull(error.cause)
}

/** @param where what could not be written */
export function diskFull(where: string, cause: unknown): PlatformError {
  const advice = 'Free some space or make the disk larger, then try again.'
  return new PlatformError('ERR_DISK_FULL', `There is no space left on the disk for ${where}. ${advice}`, {}, { cause })
}
