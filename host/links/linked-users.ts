import { createPasswordCheck } from '../../base/accounts/password-check.ts'
import type { PasswordFault } from '../../base/accounts/password-rules.ts'
import type { Passwords } from '../../base/accounts/passwords.ts'
import { columnsOf, readRow, rowsWithPassword } from '../../base/accounts/user-rows.ts'
import { usernameKey } from '../../base/accounts/username.ts'
import type { User, UserPorts, Users } from '../../base/accounts/users.ts'
import { deletedAny } from '../../base/database/deleted-any.ts'
import { firstRows } from '../../base/database/portable.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { FoundLink } from './links.ts'

/** Account changes that users make with a link instead of their password. */
export interface LinkedUsers {
  /**
   * Finds a user who has a password, by username or email address. An address matches only if it belongs to exactly one
   * user.
   */
  find(nameOrAddress: string): Promise<User | null>
  /**
   * Sets a password that the user chose with a link, marks the link as used, and ends the user's sessions and
   * remembered logins. A mailed link also verifies the user's address.
   * @param locale the language of the email about the change, unless the user has a stored one
   * @returns null if the password was set, otherwise why it was rejected; the link then stays valid. `over` means that
   *   the link was used or revoked in the meantime, that the user was disabled, or that their password or address changed
   * @throws ERR_PASSWORDS_BUSY
   */
  choosePassword(link: FoundLink, password: string, locale?: string): Promise<PasswordFault | 'over' | null>
  /**
   * Sets the user's email address, and marks it as verified.
   * @returns false if the user was disabled, or if their password or address changed in the meantime
   */
  verifyAddress(user: User, address: string): Promise<boolean>
}

export type LinkedUsersParts = {
  readonly db: HostDatabase
  readonly users: Pick<Users, 'get'>
  readonly passwords: Passwords
  readonly limits: Limits
} & Pick<UserPorts, 'endAccess' | 'passwordChanged'>

/** Maximum number of users to read with the same address. */
const MOST_WITH_ADDRESS = 10

/** @param now returns the current time in epoch milliseconds */
export function createLinkedUsers(parts: LinkedUsersParts, now: () => number = Date.now): LinkedUsers {
  const { db, users, passwords, limits, endAccess, passwordChanged } = parts
  const check = createPasswordCheck(passwords, limits, rowsWithPassword(db, { note() {}, forget() {} }, now))

  /** Updates the user, but only if they haven't changed since the link was checked. */
  async function update(
    on: HostDatabase,
    { uid, passwordChangedAt, email }: User,
    columns: ReturnType<typeof columnsOf>,
  ): Promise<boolean> {
    const { numUpdatedRows } = await on
      .updateTable('users')
      .set(columns)
      .where('uid', '=', uid)
      .where('enabled', '=', 1)
      .where('password_changed_at', passwordChangedAt === null ? 'is' : '=', passwordChangedAt)
      .where('email', email === null ? 'is' : '=', email)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  return {
    async find(nameOrAddress) {
      const columns = ['uid', 'email', 'password_hash'] as const
      const name = db.selectFrom('users').select(columns).where('username_key', '=', usernameKey(nameOrAddress))
      const byName = await name.executeTakeFirst()
      // Always look up the address too. Otherwise, the response time would show whether the username exists.
      const address = nameOrAddress.trim().toLowerCase()
      const query = db.selectFrom('users').select(columns).orderBy('uid')
      const all = query.where(({ eb, fn }) => eb(fn('lower', ['email']), '=', address))
      const byAddress = (await firstRows(db, all, MOST_WITH_ADDRESS).execute()).filter(({ email }) => {
        return usernameKey(email ?? '') === usernameKey(address)
      })
      const found = byName ?? (byAddress.length === 1 ? byAddress[0] : undefined)
      return found === undefined || found.password_hash === null ? null : users.get(found.uid)
    },
    async choosePassword({ user, row: link }, password, locale) {
      const row = await readRow(db, user.uid)
      if (row === undefined || row.directory !== null) return 'over'
      const fault = await check.faultOfNew(row, password)
      if (fault !== null) return fault
      const columns = columnsOf({ mustChangePassword: false }, await passwords.hash(password), now())
      const proved = link.is_mailed === 1 ? { email_verified_at: now() } : {}
      const isSet = await db.transaction().execute(async (transaction) => {
        const used = transaction.deleteFrom('links').where('token_hash', '=', link.token_hash)
        return (await deletedAny(used)) && update(transaction, user, { ...columns, ...proved })
      })
      if (!isSet) return 'over'
      await endAccess(user.uid)
      passwordChanged?.({ ...user, locale: user.locale ?? locale ?? null })
      return null
    },
    verifyAddress: (user, address) => update(db, user, { email: address, email_verified_at: now() }),
  }
}
