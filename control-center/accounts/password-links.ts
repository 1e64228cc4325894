import type { PasswordFault } from '../../base/accounts/password-rules.ts'
import type { Users } from '../../base/accounts/users.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import { tokenForm } from '../../base/database/token-form.ts'
import type { CenterDatabase } from '../database/tables.ts'

/**
 * Password reset links for accounts. A token has 256 random bits, and only its hash is stored. A link can be used once,
 * and is invalidated when the account's password or address changes.
 */
export interface PasswordLinks {
  /**
   * @returns the link's token; null if the account already has three valid links. The limit prevents others from
   * flooding the mailbox with requested emails.
   */
  create(uid: string): Promise<string | null>
  /**
   * Null if the link is unknown, used, expired or invalidated, or if the account is disabled. This does not use up the
   * link.
   */
  find(token: string): Promise<LinkedAccount | null>
  /**
   * Sets the password, which ends all sessions of the account. If the password is not accepted, the link stays valid.
   * @returns null if the password was set; `over` if another request just used the link; otherwise the reason why the
   *   password is not accepted
   * @throws ERR_PASSWORDS_BUSY
   */
  choosePassword(token: string, password: string): Promise<PasswordFault | 'over' | null>
  /** Removes expired links. */
  sweep(): Promise<void>
}

export type LinkedAccount = { readonly username: string }

/**
 * How long a link is valid, in ms. Chosen here: the same as for users of solutions. Together with `MOST_OPEN`, this
 * limits how many emails an account can get per hour.
 */
export const LINK_LIFETIME = 3_600_000
const MOST_OPEN = 3
const FORM = tokenForm('')

/** @param now returns the current time in epoch milliseconds */
export function createPasswordLinks(
  db: CenterDatabase,
  users: Pick<Users, 'choosePassword'>,
  now: () => number = Date.now,
): PasswordLinks {
  function accountOf(uid: string) {
    const columns = ['uid', 'username', 'password_hash', 'password_changed_at', 'email', 'enabled'] as const
    return db.selectFrom('users').select(columns).where('uid', '=', uid).executeTakeFirst()
  }

  async function findRow(token: string) {
    const hash = FORM.hashOf(token)
    if (hash === null) return null
    const query = db.selectFrom('password_links').selectAll().where('token_hash', '=', hash)
    const link = await query.where('expires_at', '>', now()).executeTakeFirst()
    if (link === undefined) return null
    const account = await accountOf(link.uid)
    const isOpen = account?.enabled === 1 && link.state === stateOf(account)
    return isOpen ? { link, account } : null
  }

  return {
    async create(uid) {
      const account = await accountOf(uid)
      if (account === undefined) return null
      const { open } = await db
        .selectFrom('password_links')
        .select((of) => of.fn.countAll<number>().as('open'))
        .where('uid', '=', uid)
        .where('expires_at', '>', now())
        .executeTakeFirstOrThrow()
      if (Number(open) >= MOST_OPEN) return null
      const { token, hash } = FORM.make()
      const times = { created_at: now(), expires_at: now() + LINK_LIFETIME }
      const link = { token_hash: hash, uid, state: stateOf(account), ...times }
      await db.insertInto('password_links').values(link).execute()
      return token
    },
    async find(token) {
      const found = await findRow(token)
      return found && { username: found.account.username }
    },
    async choosePassword(token, password) {
      const found = await findRow(token)
      if (found === null) return 'over'
      const { link, account } = found
      const user = { uid: account.uid, passwordChangedAt: account.password_changed_at }
      const fault = await users.choosePassword(user, password)
      if (fault === 'changed') return 'over'
      // The new password has already invalidated the link, so that no other request can use it.
      if (fault === null) {
        await db.deleteFrom('password_links').where('token_hash', '=', link.token_hash).execute()
      }
      return fault
    },
    async sweep() {
      await db.deleteFrom('password_links').where('expires_at', '<=', now()).execute()
    },
  }
}

/** Hash of the values that a link depends on. When they change, the link is invalidated. */
function stateOf(account: { readonly password_hash: string | null; readonly email: string | null }): string {
  return storedHash(JSON.stringify([account.password_hash, account.email]))
}
