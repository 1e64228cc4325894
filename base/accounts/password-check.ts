import { PlatformError } from '../../runtime/errors.ts'
import type { Database } from '../database/open.ts'
import type { FailureCounts } from './failure-counts.ts'
import type { Passwords } from './passwords.ts'
import type { UserRow } from './user-rows.ts'

/** Whether somebody who gives a name and a password may come in; what comes of it is written to the user's row. */
export interface PasswordCheck {
  /**
   * Unknown (undefined), disabled and password-less users take as long as a wrong password.
   * @returns false also when the password was changed or the user disabled meanwhile
   * @throws ERR_PASSWORDS_BUSY
   */
  mayComeIn(row: UserRow | undefined, password: string): Promise<boolean>
  /** Nothing is counted. @throws ERR_PASSWORDS_BUSY */
  isRight(row: UserRow | undefined, password: string): Promise<boolean>
}

/** @param now the clock, in epoch milliseconds */
export function createPasswordCheck(
  db: Database,
  passwords: Passwords,
  failures: Pick<FailureCounts, 'note' | 'forget'>,
  now: () => number,
): PasswordCheck {
  function isRight(row: UserRow | undefined, password: string): Promise<boolean> {
    return passwords.verify(row?.enabled === 1 ? row.password_hash : null, password)
  }

  /** @returns false when the password was changed or the user disabled while the password was checked */
  async function noteSignIn({ uid, password_hash }: UserRow, password: string): Promise<boolean> {
    const { numUpdatedRows } = await db
      .updateTable('users')
      .set({ failed_count: 0, last_login_at: now() })
      .where('uid', '=', uid)
      .where('password_hash', '=', password_hash)
      .where('enabled', '=', 1)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    failures.forget(uid)
    if (password_hash !== null && passwords.needsRehash(password_hash)) await rehash(uid, password_hash, password)
    return true
  }

  async function rehash(uid: string, weaker: string, password: string): Promise<void> {
    try {
      const stronger = await passwords.hash(password)
      // Not over a password that was set in the meantime.
      const row = db.updateTable('users').where('uid', '=', uid).where('password_hash', '=', weaker)
      await row.set({ password_hash: stronger }).execute()
    } catch (error) {
      // The password was right: the next sign-in tries again.
      if (!(error instanceof PlatformError)) throw error
    }
  }

  return {
    isRight,
    async mayComeIn(row, password) {
      const isPassword = await isRight(row, password)
      if (row === undefined) return false
      if (isPassword) return noteSignIn(row, password)
      failures.note(row.uid)
      return false
    },
  }
}
