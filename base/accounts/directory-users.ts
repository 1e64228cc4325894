import { randomUUID } from 'node:crypto'
import type { Limits } from '../../runtime/limits.ts'
import type { Database } from '../database/open.ts'
import { firstRows, insertOnce, inTransaction, isUniqueViolation } from '../database/portable.ts'
import type { FailureCounts } from './failure-counts.ts'
import {
  changedColumns,
  columnsOf,
  comparePermissions,
  insertPermissions,
  newRow,
  permissionRows,
  readRow,
  type UserRow,
  writeUser,
} from './user-rows.ts'
import { checkUser, type Permission, type UserFault, type UserInput } from './user-rules.ts'

/** A person's directory entry, with the permissions that their groups grant. */
export type DirectoryPerson = {
  readonly directory: string
  /** The entry's id, which stays the same when the entry is renamed or moved. */
  readonly id: string
  readonly username: string
  readonly displayName: string | null
  readonly email: string | null
  readonly permissions: readonly Permission[]
}

/** Why a person can't sign in although a directory accepted their password. */
export type DirectoryRefusal = 'another entry' | 'name in use' | 'unusable name'

/** The interface that the users table uses to query the directories. */
export interface DirectoryPort {
  hasAny(): Promise<boolean>
  /**
   * Searches for the name, and checks the password by signing in to the directory as the entry that was found.
   * @param directory the directory to search; null to search all of them, in order
   * @returns null if the directory rejected the password, or the person is in none of the mapped groups
   * @throws ERR_DIRECTORY_UNREACHABLE, ERR_DIRECTORY_REFUSED
   */
  authenticate(username: string, password: string, directory: string | null): Promise<DirectoryPerson | null>
  /**
   * Looks up an entry by its id.
   * @returns null if the person may no longer sign in: the entry is deleted or disabled, or is in none of the mapped
   * groups
   * @throws ERR_DIRECTORY_UNREACHABLE, ERR_DIRECTORY_REFUSED
   */
  lookUp(directory: string, id: string): Promise<DirectoryPerson | null>
  /** Records that the host denied access to a person although the directory accepted their password. */
  noteRefusal(person: DirectoryPerson, reason: DirectoryRefusal): void
}

/** The rows of the users table that belong to directory entries. */
export interface DirectoryUsers {
  /**
   * Checks a password in the directories and records the result. Creates a row when a directory accepts a person for
   * the first time. Rows are linked to entries by id, never by name or address.
   * @param named the users table's row with the entered name
   * @returns null if they may not sign in
   * @throws ERR_DIRECTORY_UNREACHABLE, ERR_DIRECTORY_REFUSED
   */
  authenticate(username: string, password: string, named: UserRow | undefined): Promise<UserRow | null>
  /** Checks a password without recording the result. @throws the errors of `authenticate` */
  isRight(row: UserRow, password: string): Promise<boolean>
  /**
   * Looks up the user's entry, and updates the user to match.
   * @returns null if they may no longer sign in
   * @throws the errors of `authenticate`
   */
  recheck(row: UserRow): Promise<UserRow | null>
  /**
   * Updates a user from their directory entry. Signs the user out if they may no longer sign in or have lost
   * permissions.
   * @param person null if the directory no longer lets them sign in
   * @returns whether they may still sign in
   */
  update(row: UserRow, person: DirectoryPerson | null): Promise<boolean>
}

export type DirectoryUsersParts = {
  readonly db: Database
  readonly limits: Limits
  readonly directories: DirectoryPort
  readonly failures: Pick<FailureCounts, 'note' | 'forget'>
  readonly endAccess: (uid: string) => Promise<void>
  /** Returns the current time in epoch milliseconds. */
  readonly now: () => number
}

export function createDirectoryUsers(parts: DirectoryUsersParts): DirectoryUsers {
  const { db, limits, directories, failures, endAccess, now } = parts

  function refuse(person: DirectoryPerson, reason: DirectoryRefusal): null {
    directories.noteRefusal(person, reason)
    return null
  }

  function findEntry({ directory, id }: DirectoryPerson): Promise<UserRow | undefined> {
    const rows = db.selectFrom('users').selectAll().where('directory', '=', directory).where('directory_id', '=', id)
    return firstRows(db, rows.orderBy('created_at').orderBy('uid'), 1).executeTakeFirst()
  }

  /** @returns null if another user has the name */
  async function create(person: DirectoryPerson): Promise<UserRow | null> {
    const uid = randomUUID()
    const row = newRow(uid, inputOf(person, limits), null, now())
    const isCreated = await inTransaction(db, async (transaction) => {
      const own = { directory: person.directory, directory_id: person.id, directory_checked_at: now() }
      if (!(await insertOnce(transaction, 'users', { ...row, ...own }))) return false
      await insertPermissions(transaction, permissionRows(uid, person.permissions))
      return true
    })
    // Another request may have created a row for the same entry.
    return (isCreated ? await readRow(db, uid) : await findEntry(person)) ?? null
  }

  /** @returns false if another user has the entry's new name, or the user has been deleted */
  async function write(row: UserRow, person: DirectoryPerson): Promise<boolean> {
    const { uid } = row
    const columns = changedColumns(row, inputOf(person, limits), undefined, now())
    try {
      const removed = await writeUser(db, uid, { ...columns, directory_checked_at: now() }, person.permissions)
      if (removed) await endAccess(uid)
      return removed !== null
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      refuse(person, 'name in use')
      return false
    }
  }

  async function update(row: UserRow, person: DirectoryPerson | null): Promise<boolean> {
    const mayStay = person !== null && row.enabled === 1 && isUsable(person, limits) && (await write(row, person))
    if (!mayStay) await endAccess(row.uid)
    return mayStay
  }

  async function admit(person: DirectoryPerson, named: UserRow | undefined): Promise<UserRow | null> {
    if (!isUsable(person, limits)) return refuse(person, 'unusable name')
    if (named !== undefined && !isEntryOf(named, person)) return refuse(person, 'another entry')
    const row = named ?? (await findEntry(person)) ?? (await create(person))
    if (row === null) return refuse(person, 'name in use')
    if (row.enabled !== 1 || !(await write(row, person))) return null
    const { numUpdatedRows } = await db
      .updateTable('users')
      .set({ failed_count: 0, last_login_at: now() })
      .where('uid', '=', row.uid)
      .where('enabled', '=', 1)
      .executeTakeFirst()
    return numUpdatedRows === 0n ? null : ((await readRow(db, row.uid)) ?? null)
  }

  return {
    update,
    async authenticate(username, password, named) {
      const person = await directories.authenticate(username, password, named?.directory ?? null)
      const row = person === null ? null : await admit(person, named)
      if (row !== null) failures.forget(row.uid)
      else if (named !== undefined) failures.note(named.uid)
      return row
    },
    async isRight(row, password) {
      if (row.enabled !== 1) return false
      const person = await directories.authenticate(row.username, password, row.directory)
      return person !== null && isEntryOf(row, person)
    },
    async recheck(row) {
      const { directory, directory_id: id } = row
      const person = directory === null || id === null ? null : await directories.lookUp(directory, id)
      return (await update(row, person)) ? ((await readRow(db, row.uid)) ?? null) : null
    },
  }
}

function isEntryOf(row: Pick<UserRow, 'directory' | 'directory_id'>, person: DirectoryPerson): boolean {
  return row.directory === person.directory && row.directory_id === person.id
}

/**
 * Returns an error for each changed field that the user's directory manages. Operators can only enable or disable such
 * users.
 * @param permissions the user's current permissions
 */
export function faultsOfDirectoryUser(row: UserRow, permissions: readonly Permission[], input: UserInput): UserFault[] {
  const { directory } = row
  if (directory === null) return []
  const changed = columnsOf(input, undefined, 0)
  const difference = comparePermissions(
    permissionRows(row.uid, permissions),
    permissionRows(row.uid, input.permissions ?? permissions),
  )
  const fields: readonly (readonly [keyof UserInput, boolean])[] = [
    ['username', changed.username !== undefined && changed.username !== row.username],
    ['displayName', changed.display_name !== undefined && changed.display_name !== row.display_name],
    ['email', changed.email !== undefined && changed.email !== row.email],
    ['mustChangePassword', input.mustChangePassword === true],
    ['permissions', difference.removed.length > 0 || difference.added.length > 0],
    ['password', input.password !== undefined],
  ]
  return fields
    .filter(([, isChanged]) => isChanged)
    .map(([field]) => ({
      field,
      message: `cannot change ${field} here: edit the user in the directory "${directory}"`,
    }))
}

function isUsable({ username, permissions }: DirectoryPerson, limits: Limits): boolean {
  return checkUser({ username, permissions }, { username, email: null }, limits).length === 0
}

/**
 * Omits display names and addresses that the users table would reject. They must not prevent the person from signing
 * in.
 */
function inputOf({ username, displayName, email }: DirectoryPerson, limits: Limits): UserInput & { username: string } {
  const isRight = (input: UserInput) => checkUser(input, { username, email: null }, limits).length === 0
  return {
    username,
    displayName: isRight({ displayName }) ? displayName : null,
    email: isRight({ email }) ? email : null,
  }
}
