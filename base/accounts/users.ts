import { randomUUID } from 'node:crypto'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { deletedAny } from '../database/deleted-any.ts'
import type { Database } from '../database/open.ts'
import { firstRows, insertOnce, inTransaction, isUniqueViolation } from '../database/portable.ts'
import { FACTORS_OF } from './account-source-name.ts'
import {
  createDirectoryUsers,
  type DirectoryPerson,
  type DirectoryPort,
  faultsOfDirectoryUser,
} from './directory-users.ts'
import { accountId, factorAccount } from './factor-account.ts'
import { createFailureCounts } from './failure-counts.ts'
import { createPasswordChanges, type PasswordChanges } from './password-changes.ts'
import { createPasswordCheck } from './password-check.ts'
import type { Passwords } from './passwords.ts'
import { searchUsers } from './search-users.ts'
import {
  changedColumns,
  insertPermissions,
  lockUser,
  newRow,
  type PermissionRow,
  permissionRows,
  permissionsOfRows,
  readPermissions,
  readRow,
  readRowOfName,
  rowsWithPassword,
  type UserRow,
  writeUser,
} from './user-rows.ts'
import {
  checkUser,
  LONGEST_NAME,
  type Permission,
  refuse,
  tidyName,
  type UserFault,
  type UserInput,
} from './user-rules.ts'

export type User = {
  readonly uid: string
  readonly username: string
  readonly displayName: string | null
  readonly email: string | null
  /** When the user verified the address, in epoch ms; null if they haven't. */
  readonly emailVerifiedAt: number | null
  /** The language of emails to the user; null if unknown. */
  readonly locale: string | null
  readonly enabled: boolean
  readonly mustChangePassword: boolean
  readonly permissions: readonly Permission[]
  /** Epoch ms; null if the user has never signed in. */
  readonly lastLoginAt: number | null
  /** The number of rejected passwords since the last sign-in. */
  readonly failedCount: number
  /** Epoch ms; null if the user never had a password. */
  readonly passwordChangedAt: number | null
  /** The directory that manages the user's password; null if the users table does. */
  readonly directory: string | null
  /** Epoch ms. */
  readonly createdAt: number
}

export type NewUser = UserInput & { readonly username: string }

export type UserQuery = {
  readonly limit: number
  /** `next` of the previous page. */
  readonly after?: string | undefined
  /** Part of the username, full name, email address or uid (case-insensitive). */
  readonly search?: string | undefined
}

export type UserPage = { readonly items: readonly User[]; readonly next?: string }

/** Functions that other parts of the platform provide to the users table. */
export type UserPorts = {
  /** Ends the user's sessions and remembered logins. Called after the change that requires it. */
  readonly endAccess: (uid: string) => Promise<void>
  /** Erases a username from the audit log. */
  readonly eraseFromAudit: (username: string) => Promise<void>
  /** Called after an existing user's password was set. Must not throw. */
  readonly passwordChanged?: (user: Pick<User, 'username' | 'email' | 'locale'>) => void
  /** The directories whose people can sign in; absent in the control center, which has none. */
  readonly directories?: DirectoryPort
}

/** The platform's users table: one for all solutions, with permissions that are valid in all solutions or in one. */
export interface Users extends PasswordChanges {
  /**
   * Lists users, ordered by name. A search reads at most 100,000 users, so a page with fewer users than requested can
   * still have a `next`.
   */
  list(query: UserQuery): Promise<UserPage>
  get(uid: string): Promise<User | null>
  find(username: string): Promise<User | null>
  /** @throws ERR_REQUEST_INVALID with `faults`, ERR_NAME_EXISTS, ERR_PASSWORDS_BUSY */
  create(user: NewUser): Promise<User>
  /**
   * Sets the fields of the input. If the input sets a password, the user must change it at the next sign-in, unless the
   * input sets `mustChangePassword` to false. Setting a password, disabling the user and removing a permission end the
   * user's sessions.
   * @throws ERR_USER_NOT_FOUND, ERR_REQUEST_INVALID with `faults`, ERR_NAME_EXISTS, ERR_PASSWORDS_BUSY
   */
  change(uid: string, input: UserInput): Promise<User>
  /** @throws ERR_USER_NOT_FOUND */
  delete(uid: string): Promise<void>
  /** Signs the user out everywhere: sessions and remembered logins. @throws ERR_USER_NOT_FOUND */
  signOut(uid: string): Promise<void>
  /** Deletes the user, and erases the name from sessions and the audit log. @throws ERR_USER_NOT_FOUND */
  erase(uid: string): Promise<void>
  /** @throws ERR_USER_NOT_FOUND, ERR_REQUEST_INVALID with `faults` */
  addPermission(uid: string, permission: Permission): Promise<void>
  /**
   * Removing a permission the user has ends their sessions; removing one they don't have is a no-op.
   * @throws ERR_USER_NOT_FOUND
   */
  removePermission(uid: string, permission: Permission): Promise<void>
  /** The user's permissions in that solution, including those for all solutions. */
  permissionsFor(uid: string, solution: string): Promise<string[]>
  /**
   * Returns the user with this name and password. For unknown or disabled users and users without a password, the check
   * takes as long as for a wrong password. Only the directory checks a directory user's password. A name that isn't in
   * the table is looked up in the directories, in order.
   * @throws ERR_PASSWORDS_BUSY, ERR_DIRECTORY_UNREACHABLE, ERR_DIRECTORY_REFUSED
   */
  authenticate(username: string, password: string): Promise<User | null>
  /**
   * Checks a password without recording the result.
   * @throws ERR_PASSWORDS_BUSY, ERR_DIRECTORY_UNREACHABLE, ERR_DIRECTORY_REFUSED
   */
  checkPassword(uid: string, password: string): Promise<boolean>
  /**
   * Returns the user if they may sign in again without a password. Looks up the entry of a directory user, and signs
   * the user out if they have lost permissions.
   * @throws ERR_DIRECTORY_UNREACHABLE, ERR_DIRECTORY_REFUSED
   */
  recheck(uid: string): Promise<User | null>
  /**
   * Updates a directory user from their entry: see `recheck`.
   * @param person null if they may no longer sign in
   */
  applyDirectory(uid: string, person: DirectoryPerson | null): Promise<void>
  /** Writes the queued failure counts. */
  flush(): Promise<void>
}

/** @param now returns the current time in epoch milliseconds */
export function createUsers(
  db: Database,
  passwords: Passwords,
  limits: Limits,
  { endAccess, eraseFromAudit, passwordChanged, directories = NO_DIRECTORIES }: UserPorts,
  now: () => number = Date.now,
): Users {
  const failures = createFailureCounts(db)
  const directoryUsers = createDirectoryUsers({ db, limits, directories, failures, endAccess, now })
  const check = createPasswordCheck(passwords, limits, rowsWithPassword(db, failures, now))

  async function userOfRow(row: UserRow | undefined | null): Promise<User | null> {
    return row === undefined || row === null ? null : ((await usersOf(db, [row]))[0] ?? null)
  }

  async function needRow(uid: string): Promise<UserRow> {
    const row = await readRow(db, uid)
    if (row !== undefined) return row
    throw noUser(uid)
  }

  async function need(uid: string): Promise<User> {
    return userOfRow(await needRow(uid)) as Promise<User>
  }

  async function hashOf({ password }: UserInput): Promise<string | null | undefined> {
    return typeof password === 'string' ? passwords.hash(password) : password
  }

  /** @param last called before the row is deleted, so that the deletion can be repeated if this function fails */
  async function remove(row: UserRow, last: () => Promise<void> = async () => {}): Promise<void> {
    const { uid } = row
    // Disable the user first, so that they can't sign in again after the sessions end.
    await db.updateTable('users').set({ enabled: 0 }).where('uid', '=', uid).execute()
    await endAccess(uid)
    await last()
    await deleteRows(db, uid)
    failures.forget(uid)
  }

  return {
    list: (query) => listUsers(db, query),
    async get(uid) {
      return userOfRow(await readRow(db, uid))
    },
    async find(username) {
      return userOfRow(await readRowOfName(db, username))
    },
    async create(input) {
      const { username, email = null } = input
      refuse(checkUser(input, { username, email }, limits))
      const uid = randomUUID()
      const passwordHash = (await hashOf(input)) ?? null
      const row = newRow(uid, input, passwordHash, now())
      await inTransaction(db, async (transaction) => {
        if (!(await insertOnce(transaction, 'users', row))) throw nameExists(username)
        await insertPermissions(transaction, permissionRows(uid, input.permissions ?? []))
      })
      return need(uid)
    },
    async change(uid, input) {
      const before = await needRow(uid)
      const { username = before.username, email = before.email } = input
      refuse(checkUser(input, { username, email }, limits))
      if (before.directory !== null) refuse(faultsOfDirectoryUser(before, (await need(uid)).permissions, input))
      const columns = changedColumns(before, input, await hashOf(input), now())
      const removed = await writeUser(db, uid, columns, input.permissions).catch((error: unknown) => {
        throw isUniqueViolation(error) ? nameExists(username) : error
      })
      if (removed === null) throw noUser(uid)
      if (removed || input.enabled === false || input.password !== undefined) await endAccess(uid)
      // The email goes to the old address, because it warns the person who used that address until now.
      if (typeof input.password === 'string') passwordChanged?.(before)
      return need(uid)
    },
    async delete(uid) {
      await remove(await needRow(uid))
    },
    async erase(uid) {
      const row = await needRow(uid)
      await remove(row, async () => {
        for (const table of ['sessions', 'remembered'] as const) {
          await db.deleteFrom(table).where(FACTORS_OF, '=', 'users').where('uid', '=', uid).execute()
        }
        await eraseFromAudit(row.username)
      })
    },
    async signOut(uid) {
      await needRow(uid)
      await endAccess(uid)
    },
    async addPermission(uid, permission) {
      const user = await need(uid)
      refuse(checkUser({ permissions: [...user.permissions, permission] }, user, limits))
      refuse(faultsOfPermission(user))
      const isThere = await inTransaction(db, async (transaction) => {
        if (!(await lockUser(transaction, uid))) return false
        for (const row of permissionRows(uid, [permission])) await insertOnce(transaction, 'permissions', row)
        return true
      })
      if (!isThere) throw noUser(uid)
    },
    async removePermission(uid, permission) {
      refuse(faultsOfPermission(await needRow(uid)))
      const [{ solution, name }] = permissionRows(uid, [permission]) as [PermissionRow]
      const one = db.deleteFrom('permissions').where('uid', '=', uid)
      if (await deletedAny(one.where('solution', '=', solution).where('name', '=', name))) await endAccess(uid)
    },
    async permissionsFor(uid, solution) {
      const rows = await db
        .selectFrom('permissions')
        .select('name')
        .distinct()
        .where('uid', '=', uid)
        .where('solution', 'in', ['', solution])
        .orderBy('name')
        .execute()
      return rows.map(({ name }) => name)
    },
    async authenticate(username, password) {
      const isName = username.length <= 2 * LONGEST_NAME
      const row = isName ? await readRowOfName(db, username) : undefined
      const isElsewhere = row === undefined ? isName && (await directories.hasAny()) : row.directory !== null
      if (!isElsewhere) return (await check.mayComeIn(row, password)) ? userOfRow(row) : null
      return userOfRow(await directoryUsers.authenticate(username, password, row))
    },
    async checkPassword(uid, password) {
      const row = await readRow(db, uid)
      return row === undefined || row.directory === null
        ? check.isRight(row, password)
        : directoryUsers.isRight(row, password)
    },
    async recheck(uid) {
      const row = await readRow(db, uid)
      if (row === undefined || row.enabled !== 1) return null
      return userOfRow(row.directory === null ? row : await directoryUsers.recheck(row))
    },
    async applyDirectory(uid, person) {
      const row = await readRow(db, uid)
      if (row !== undefined && row.directory !== null) await directoryUsers.update(row, person)
    },
    ...createPasswordChanges({ db, passwords, check, failures, needRow, endAccess, passwordChanged, now }),
    flush: failures.flush,
  }
}

export function noUser(uid: string): PlatformError {
  const name = JSON.stringify(uid.slice(0, 60))
  return new PlatformError(
    'ERR_USER_NOT_FOUND',
    `There is no user with the uid ${name}. The user may have been deleted.`,
  )
}

async function deleteRows(db: Database, uid: string): Promise<void> {
  await inTransaction(db, async (transaction) => {
    // Delete this row first, as `writeUser` does, to prevent deadlocks. This also deletes the user's permissions.
    await transaction.deleteFrom('users').where('uid', '=', uid).execute()
    const factors = accountId(factorAccount('users', '', uid))
    await transaction.deleteFrom('factor_accounts').where('id', '=', factors).execute()
    await transaction.deleteFrom('links').where('uid', '=', uid).execute()
  })
}

const NO_DIRECTORIES: DirectoryPort = {
  hasAny: async () => false,
  authenticate: async () => null,
  lookUp: async () => null,
  noteRefusal: () => {},
}

async function listUsers(db: Database, { limit, after, search }: UserQuery): Promise<UserPage> {
  if (search !== undefined && search.trim() !== '') {
    const { rows, ...more } = await searchUsers(db, { limit, after, search })
    return { items: await usersOf(db, rows), ...more }
  }
  let query = db.selectFrom('users').selectAll().orderBy('username_key')
  if (after !== undefined) query = query.where('username_key', '>', after)
  const rows = await firstRows(db, query, limit + 1).execute()
  const last = rows.length > limit ? rows[limit - 1] : undefined
  const items = await usersOf(db, rows.slice(0, limit))
  return last === undefined ? { items } : { items, next: last.username_key }
}

async function usersOf(db: Database, rows: readonly UserRow[]): Promise<User[]> {
  const uids = rows.map(({ uid }) => uid)
  const permissions = await readPermissions(db, uids)
  return rows.map((row) => userOf(row, permissionsOfRows(permissions.get(row.uid) ?? [])))
}

function userOf(row: UserRow, permissions: readonly Permission[]): User {
  return {
    uid: row.uid,
    username: row.username,
    displayName: row.display_name,
    email: row.email,
    emailVerifiedAt: row.email_verified_at,
    locale: row.locale,
    enabled: row.enabled === 1,
    mustChangePassword: row.must_change_password === 1,
    permissions,
    lastLoginAt: row.last_login_at,
    failedCount: row.failed_count,
    passwordChangedAt: row.password_changed_at,
    directory: row.directory,
    createdAt: row.created_at,
  }
}

/** A directory user has the permissions that their groups grant. */
function faultsOfPermission({ directory }: Pick<User, 'directory'>): UserFault[] {
  if (directory === null) return []
  return [
    {
      field: 'permissions',
      message: `cannot change permissions here: edit the user in the directory "${directory}"`,
    },
  ]
}

function nameExists(username: string): PlatformError {
  const name = tidyName(username)
  return new PlatformError(
    'ERR_NAME_EXISTS',
    `A user named ${JSON.stringify(name)} already exists. Usernames are not case-sensitive.`,
  )
}
