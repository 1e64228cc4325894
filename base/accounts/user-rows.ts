import type { Insertable, Selectable, Updateable } from 'kysely'
import type { Database } from '../database/open.ts'
import { insertOnce, inTransaction } from '../database/portable.ts'
import type { Tables } from '../database/tables.ts'
import type { FailureCounts } from './failure-counts.ts'
import type { AccountRows } from './password-check.ts'
import { type Permission, tidyName, type UserInput } from './user-rules.ts'
import { usernameKey } from './username.ts'

export type UserRow = Selectable<Tables['users']>
export type PermissionRow = Tables['permissions']

/** Maximum number of rows per statement, and of values per `in (…)`. SQL Server accepts only 2,100 parameters. */
const AT_ONCE = 100

export function readRow(db: Database, uid: string): Promise<UserRow | undefined> {
  return db.selectFrom('users').selectAll().where('uid', '=', uid).executeTakeFirst()
}

export function readRowOfName(db: Database, username: string): Promise<UserRow | undefined> {
  return db.selectFrom('users').selectAll().where('username_key', '=', usernameKey(username)).executeTakeFirst()
}

/** Returns the columns that the input sets. `passwordHash` is undefined if the input doesn't set the password. */
export function columnsOf(
  input: UserInput,
  passwordHash: string | null | undefined,
  now: number,
): Partial<Insertable<Tables['users']>> {
  const { username, displayName, email, enabled, locale } = input
  const mustChange = input.mustChangePassword ?? (typeof passwordHash === 'string' ? true : undefined)
  return {
    ...(username === undefined ? {} : { username: tidyName(username), username_key: usernameKey(username) }),
    ...(displayName === undefined ? {} : { display_name: displayName === null ? null : tidyName(displayName) }),
    ...(email === undefined ? {} : { email }),
    ...(locale === undefined ? {} : { locale }),
    ...(enabled === undefined ? {} : { enabled: Number(enabled) }),
    ...(mustChange === undefined ? {} : { must_change_password: Number(mustChange) }),
    ...(passwordHash === undefined ? {} : { password_hash: passwordHash, password_changed_at: now, failed_count: 0 }),
  }
}

/** Returns the columns that an input changes in an existing row. A new address is marked as unverified. */
export function changedColumns(
  before: Pick<UserRow, 'email'>,
  input: UserInput,
  passwordHash: string | null | undefined,
  now: number,
): Partial<Insertable<Tables['users']>> {
  const isNewAddress = input.email !== undefined && input.email !== before.email
  return { ...columnsOf(input, passwordHash, now), ...(isNewAddress ? { email_verified_at: null } : {}) }
}

export function newRow(
  uid: string,
  input: UserInput & { readonly username: string },
  passwordHash: string | null,
  now: number,
): Insertable<Tables['users']> {
  const set = columnsOf(input, passwordHash, now)
  return {
    display_name: null,
    email: null,
    enabled: 1,
    must_change_password: 0,
    last_login_at: null,
    created_at: now,
    ...set,
    uid,
    username: tidyName(input.username),
    username_key: usernameKey(input.username),
    failed_count: 0,
    password_hash: passwordHash,
    password_changed_at: passwordHash === null ? null : now,
  }
}

/**
 * Returns the functions with which a password check updates the users table.
 * @param now returns the current time in epoch milliseconds
 */
export function rowsWithPassword(
  db: Database,
  failures: Pick<FailureCounts, 'note' | 'forget'>,
  now: () => number,
): AccountRows<UserRow> {
  const withHash = ({ uid, password_hash }: UserRow) =>
    db.updateTable('users').where('uid', '=', uid).where('password_hash', '=', password_hash)
  return {
    async noteSignIn(row) {
      const { numUpdatedRows } = await withHash(row)
        .where('enabled', '=', 1)
        .set({ failed_count: 0, last_login_at: now() })
        .executeTakeFirst()
      if (numUpdatedRows === 0n) return false
      failures.forget(row.uid)
      return true
    },
    noteRefusal: ({ uid }) => failures.note(uid),
    replaceHash: (row, stronger) => withHash(row).set({ password_hash: stronger }).execute(),
  }
}

export function permissionRows(uid: string, permissions: readonly Permission[]): PermissionRow[] {
  const rows = permissions.map((permission) =>
    typeof permission === 'string'
      ? { uid, solution: '', name: permission }
      : { uid, solution: permission.solution, name: permission.name },
  )
  return [...new Map(rows.map((row) => [keyOf(row), row])).values()]
}

export function permissionsOfRows(rows: readonly PermissionRow[]): Permission[] {
  return rows.map(({ solution, name }) => (solution === '' ? name : { name, solution }))
}

/** Returns which permissions to remove and add so that the user has the wanted ones. */
export function comparePermissions(has: readonly PermissionRow[], wanted: readonly PermissionRow[]) {
  const [hasKeys, wantedKeys] = [new Set(has.map(keyOf)), new Set(wanted.map(keyOf))]
  return {
    removed: has.filter((row) => !wantedKeys.has(keyOf(row))),
    added: wanted.filter((row) => !hasKeys.has(keyOf(row))),
  }
}

/** Returns permissions by uid, ordered by solution and name. */
export async function readPermissions(db: Database, uids: readonly string[]): Promise<Map<string, PermissionRow[]>> {
  const found = new Map<string, PermissionRow[]>(uids.map((uid) => [uid, []]))
  for (const some of chunksOf(uids)) {
    const rows = await db
      .selectFrom('permissions')
      .selectAll()
      .where('uid', 'in', some)
      .orderBy('uid')
      .orderBy('solution')
      .orderBy('name')
      .execute()
    for (const row of rows) found.get(row.uid)?.push(row)
  }
  return found
}

/**
 * Changes a user's row. Also replaces their permissions, unless `permissions` is undefined.
 * @returns whether permissions were removed; null if the user has been deleted
 */
export function writeUser(
  db: Database,
  uid: string,
  columns: Updateable<Tables['users']>,
  permissions: readonly Permission[] | undefined,
): Promise<boolean | null> {
  return inTransaction(db, async (transaction) => {
    if (!(await lockUser(transaction, uid, columns))) return null
    if (permissions === undefined) return false
    const has = (await readPermissions(transaction, [uid])).get(uid) ?? []
    const difference = comparePermissions(has, permissionRows(uid, permissions))
    await applyPermissions(transaction, difference)
    return difference.removed.length > 0
  })
}

/**
 * Changes a user's row, even if no column is set: the lock makes other changes to the user's permissions wait.
 * @returns false if the user has been deleted
 */
export async function lockUser(
  transaction: Database,
  uid: string,
  columns: Updateable<Tables['users']> = {},
): Promise<boolean> {
  const update = transaction.updateTable('users').set((row) => ({ enabled: row.ref('enabled'), ...columns }))
  return (await update.where('uid', '=', uid).executeTakeFirst()).numUpdatedRows > 0n
}

export async function insertPermissions(db: Database, rows: readonly PermissionRow[]): Promise<void> {
  for (const some of chunksOf(rows)) await db.insertInto('permissions').values(some).execute()
}

/** Removes and adds individual permissions. Changes that another request has already made are ignored. */
export async function applyPermissions(
  db: Database,
  { removed, added }: ReturnType<typeof comparePermissions>,
): Promise<void> {
  for (const { uid, solution, name } of removed) {
    await db
      .deleteFrom('permissions')
      .where('uid', '=', uid)
      .where('solution', '=', solution)
      .where('name', '=', name)
      .execute()
  }
  for (const row of added) await insertOnce(db, 'permissions', row)
}

export function chunksOf<T>(all: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(all.length / AT_ONCE) }, (_, at) => all.slice(at * AT_ONCE, (at + 1) * AT_ONCE))
}

function keyOf({ solution, name }: PermissionRow): string {
  return `${solution} ${name}`
}
