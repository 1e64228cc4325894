import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PlatformError } from '../../runtime/errors.ts'
import { makeHome } from '../database/make-home.ts'
import { PLATFORM, type Saved } from './saved.ts'

/**
 * A lock on PLATFORM_HOME. Hosts or a control center share it; a restore needs it exclusively. It uses SQLite's lock on
 * an empty file, because Node.js has no file locks. The operating system releases it when the process ends, even after
 * a crash.
 */
export type HomeLock = { release(): void }

/** `isFirst` is false if the host or control center that used the folder first is still using it. */
export type SharedHomeLock = HomeLock & { readonly isFirst: boolean }

const LOCK_FILE = 'in-use'
/** This file exists while a restore changes the folder, and after an interrupted restore. */
const MARKER = 'restore-unfinished'
const PATIENCE = 1000
/** https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5

/** Describes the service that uses the folder, for error messages. */
type User = Pick<Saved, 'user' | 'restoreCommand' | 'mayReplace'>

/**
 * Takes the shared lock for a host or a control center. If the folder does not support locks, as on some network disks,
 * it is used without a lock.
 * @throws ERR_PLATFORM_IN_USE while a restore changes the folder, or after an interrupted restore
 */
export function holdHome(home: string, { user, restoreCommand, mayReplace }: User = PLATFORM): SharedHomeLock {
  makeHome(home)
  // Only one process can have this lock, but it lets others share the folder.
  const first = lockOf(home, 'BEGIN IMMEDIATE', 0)
  const isFirst = first !== 'taken'
  const lock = isFirst ? first : lockOf(home, 'BEGIN; SELECT count(*) FROM sqlite_schema')
  if (lock === 'taken')
    throw inUse(
      `A backup is being restored into ${home}. Wait until "${restoreCommand}" finishes, then start the ${user}.`,
    )
  if (!isRestoreUnfinished(home)) return { release: lock === 'none' ? () => {} : lock.release, isFirst }
  if (lock !== 'none') lock.release()
  throw inUse(
    mayReplace
      ? `A restore into ${home} was interrupted, so the folder may contain a mix of old and restored files. Run "${restoreCommand}" again ` +
          `with --replace, then start the ${user}. The data from before the restore is in a subfolder named "replaced-…".`
      : `A restore into ${home} was interrupted, so some files are missing. Delete everything in that folder, run "${restoreCommand}" ` +
          `again, then start the ${user}.`,
  )
}

/**
 * Like `holdHome`, for services that can't share their folder.
 * @throws ERR_PLATFORM_IN_USE also if another service uses the folder
 */
export function holdHomeAlone(home: string, by: User): HomeLock {
  const lock = holdHome(home, by)
  if (lock.isFirst) return lock
  lock.release()
  throw inUse(
    `Another process, such as a ${by.user}, is using ${home}. Stop it, or set PLATFORM_HOME to another folder.`,
  )
}

/**
 * Takes the exclusive lock for a restore.
 * @throws ERR_PLATFORM_IN_USE while a host or another restore uses the folder
 */
export function takeHome(home: string, { user }: User = PLATFORM): HomeLock {
  makeHome(home)
  const lock = lockOf(home, 'BEGIN EXCLUSIVE')
  if (lock === 'taken')
    throw inUse(
      `A ${user} or another restore is using ${home}. Stop the ${user}, or wait until the restore finishes. Then run this command again.`,
    )
  return lock === 'none' ? { release() {} } : lock
}

export function isRestoreUnfinished(home: string): boolean {
  return existsSync(join(home, MARKER))
}

/** Call this before the first change to existing files, and `end` after the last. */
export function markRestore(home: string): { end(): void } {
  const file = join(home, MARKER)
  writeFileSync(file, 'A restore into this folder is in progress or was interrupted.\n', { mode: 0o600, flush: true })
  return { end: () => rmSync(file) }
}

/** @param patience how long to wait for the lock, in ms, in case another process is just acquiring it */
function lockOf(home: string, sql: string, patience = PATIENCE): HomeLock | 'taken' | 'none' {
  const file = join(home, LOCK_FILE)
  let database: DatabaseSync | null = null
  try {
    database = new DatabaseSync(file, { timeout: patience })
    chmodSync(file, 0o600)
    const held = database
    held.exec(sql)
    return { release: () => held.close() }
  } catch (error) {
    database?.close()
    return (error as { errcode?: number }).errcode === SQLITE_BUSY ? 'taken' : 'none'
  }
}

function inUse(text: string): PlatformError {
  return new PlatformError('ERR_PLATFORM_IN_USE', text)
}
