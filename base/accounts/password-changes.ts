import type { Updateable } from 'kysely'
import type { Database } from '../database/open.ts'
import type { Tables } from '../database/tables.ts'
import { faultsOfDirectoryUser } from './directory-users.ts'
import type { FailureCounts } from './failure-counts.ts'
import type { PasswordCheck } from './password-check.ts'
import type { PasswordFault } from './password-rules.ts'
import type { Passwords } from './passwords.ts'
import { columnsOf, readRow, type UserRow } from './user-rows.ts'
import { refuse } from './user-rules.ts'

/** A user with the time of their last password change, which identifies their current password. */
type OwnPassword = { readonly uid: string; readonly passwordChangedAt: number | null }

/** Sets the passwords of existing users. */
export interface PasswordChanges {
  /**
   * Sets a password on the user's behalf, and ends the user's sessions.
   * @returns why the password was rejected, or null if it was set
   * @throws ERR_USER_NOT_FOUND, ERR_PASSWORDS_BUSY, ERR_REQUEST_INVALID if a directory manages the user's password
   */
  setPassword(uid: string, password: string, options?: { readonly mustChange?: boolean }): Promise<PasswordFault | null>
  /**
   * Sets a password that the user chose, and ends the user's sessions.
   * @param user the user before they proved their identity
   * @param locale the language of the email about the change, unless the user has a stored one
   * @returns null if the password was set, otherwise why it was rejected. `changed` means that the user was disabled or
   *   deleted, or that their password changed in the meantime
   * @throws ERR_PASSWORDS_BUSY, ERR_REQUEST_INVALID if a directory manages the user's password
   */
  choosePassword(user: OwnPassword, password: string, locale?: string): Promise<PasswordFault | 'changed' | null>
}

export type PasswordChangeNeeds = {
  readonly db: Database
  readonly passwords: Passwords
  readonly check: Pick<PasswordCheck<UserRow>, 'faultOfNew'>
  readonly failures: Pick<FailureCounts, 'forget'>
  /** @throws ERR_USER_NOT_FOUND */
  readonly needRow: (uid: string) => Promise<UserRow>
  readonly endAccess: (uid: string) => Promise<void>
  readonly passwordChanged: ((row: UserRow) => void) | undefined
  /** The clock, in epoch ms. */
  readonly now: () => number
}

export function createPasswordChanges(needs: PasswordChangeNeeds): PasswordChanges {
  const { db, passwords, check, failures, needRow, endAccess, passwordChanged, now } = needs

  async function faultOfNew(row: UserRow, password: string): Promise<PasswordFault | null> {
    refuse(faultsOfDirectoryUser(row, [], { password }))
    return check.faultOfNew(row, password)
  }

  async function columnsFor(password: string, mustChangePassword: boolean) {
    return columnsOf({ mustChangePassword }, await passwords.hash(password), now())
  }

  async function afterChange(row: UserRow, locale?: string): Promise<void> {
    failures.forget(row.uid)
    await endAccess(row.uid)
    passwordChanged?.({ ...row, locale: row.locale ?? locale ?? null })
  }

  return {
    async setPassword(uid, password, { mustChange = false } = {}) {
      const row = await needRow(uid)
      const fault = await faultOfNew(row, password)
      if (fault !== null) return fault
      const columns = await columnsFor(password, mustChange)
      await db.updateTable('users').set(columns).where('uid', '=', uid).execute()
      await afterChange(row)
      return null
    },
    async choosePassword({ uid, passwordChangedAt }, password, locale) {
      const row = await readRow(db, uid)
      if (row === undefined || row.password_changed_at !== passwordChangedAt) return 'changed'
      const fault = await faultOfNew(row, password)
      if (fault !== null) return fault
      if (!(await replacePassword(db, row, await columnsFor(password, false)))) return 'changed'
      await afterChange(row, locale)
      return null
    },
  }
}

/**
 * Sets the columns of a new password, but only if the user is enabled and still has the old one.
 * @returns whether the password was set
 */
async function replacePassword(
  db: Database,
  { uid, password_hash }: UserRow,
  columns: Updateable<Tables['users']>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set(columns)
    .where('uid', '=', uid)
    .where('enabled', '=', 1)
    .where('password_hash', password_hash === null ? 'is' : '=', password_hash)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
