import type { User, Users } from '../../base/accounts/users.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'

/**
 * A ticket proves, without a session, that a user entered the correct password but must choose a new one to continue.
 */
export interface PasswordTickets {
  issue(user: User): string
  /** @returns null if the ticket expired, was used or was never issued */
  read(ticket: string): Promise<User | null>
}

const PURPOSE = 'center-change-password'
/** How long users have to choose a new password, in ms. */
const LIFETIME = 15 * 60_000

/** @param now returns the current time in epoch milliseconds */
export function createPasswordTickets(
  users: Pick<Users, 'get'>,
  key: PlatformKey,
  now: () => number = Date.now,
): PasswordTickets {
  /**
   * The text that is signed. It contains the time of the last password change, so a ticket works only for this user and
   * only until the password changes.
   */
  function textOf({ uid, passwordChangedAt }: User, expiry: string): string {
    return `${expiry} ${passwordChangedAt} ${uid}`
  }

  return {
    issue(user) {
      const expiry = String(now() + LIFETIME)
      const uid = Buffer.from(user.uid).toString('base64url')
      return `${expiry}.${key.sign(PURPOSE, textOf(user, expiry))}.${uid}`
    },
    async read(ticket) {
      const [expiry = '', signature = '', uid = ''] = ticket.slice(0, 1000).split('.')
      if (!(Number(expiry) > now())) return null
      const user = await users.get(Buffer.from(uid, 'base64url').toString('utf8'))
      if (!user?.enabled || !user.mustChangePassword) return null
      return key.verify(PURPOSE, textOf(user, expiry), signature) ? user : null
    },
  }
}
