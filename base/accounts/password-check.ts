import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { checkNewPassword, type PasswordFault, type PasswordOwner } from './password-rules.ts'
import type { Passwords } from './passwords.ts'

/** The columns of an account that a password check needs. */
export type AccountRow = {
  readonly uid: string
  readonly enabled: number
  readonly password_hash: string | null
}

/** The store for one kind of account. */
export type AccountRows<Row extends AccountRow> = {
  /** Records a sign-in and returns true if the account is enabled and still has this hash. */
  readonly noteSignIn: (row: Row) => Promise<boolean>
  /** Records a rejected password in the background, so that the response doesn't wait. */
  readonly noteRefusal: (row: Row) => void
  /** Replaces the row's hash, if the account still has the old one. */
  readonly replaceHash: (row: Row, stronger: string) => Promise<unknown>
}

/** Checks the passwords for one kind of account: a host's users or a solution's users. */
export interface PasswordCheck<Row extends AccountRow> {
  /**
   * Checks a sign-in and records the result. For disabled accounts, accounts without a password and unknown ones
   * (undefined), the check takes as long as for a wrong password.
   * @returns false if the password is wrong, if it changed during the check, or if the account is disabled
   * @throws ERR_PASSWORDS_BUSY
   */
  mayComeIn(row: Row | undefined, password: string): Promise<boolean>
  /** Checks a password without recording the result. @throws ERR_PASSWORDS_BUSY */
  isRight(row: Row | undefined, password: string): Promise<boolean>
  /** Returns why the account can't use this new password, or null if it can. @throws ERR_PASSWORDS_BUSY */
  faultOfNew(row: Row & PasswordOwner, password: string): Promise<PasswordFault | null>
}

export function createPasswordCheck<Row extends AccountRow>(
  passwords: Passwords,
  limits: Limits,
  rows: AccountRows<Row>,
): PasswordCheck<Row> {
  function isRight(row: Row | undefined, password: string): Promise<boolean> {
    return passwords.verify(row?.enabled === 1 ? row.password_hash : null, password)
  }

  async function rehash(row: Row, password: string): Promise<void> {
    if (row.password_hash === null || !passwords.needsRehash(row.password_hash)) return
    try {
      await rows.replaceHash(row, await passwords.hash(password))
    } catch (error) {
      // The password was correct, so the sign-in succeeds even if the rehash fails. The next sign-in tries to rehash it
      // again.
      if (!(error instanceof PlatformError)) throw error
    }
  }

  return {
    isRight,
    async mayComeIn(row, password) {
      const isPassword = await isRight(row, password)
      if (row === undefined) return false
      if (!isPassword) {
        rows.noteRefusal(row)
        return false
      }
      if (!(await rows.noteSignIn(row))) return false
      await rehash(row, password)
      return true
    },
    async faultOfNew(row, password) {
      const fault = checkNewPassword(password, row, limits)
      if (fault !== null || row.password_hash === null) return fault
      // Users who must change their password can't choose the current one again.
      return (await passwords.verify(row.password_hash, password))
        ? { key: 'platform.password.same', values: [] }
        : null
    },
  }
}
