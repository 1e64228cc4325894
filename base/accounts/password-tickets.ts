import type { PlatformKey } from '../config/platform-key.ts'
import type { User, Users } from './users.ts'

/**
 * A ticket proves, without a session, that a user entered the correct password but must choose a new one to continue.
 */
export interface PasswordTickets {
  /** @param solution the only solution that the ticket is valid for; empty in the control center */
  issue(user: User, solution: string): string
  /** @returns null if the ticket expired, was used, is for another solution or was never issued */
  read(ticket: string, solution: string): Promise<User | null>
}

/** How long users have to choose a new password, in ms. */
const LIFETIME = 15 * 60_000
const LONGEST = 1000

/**
 * @param purpose distinguishes the tickets of one service from those of others
 * @param now returns the current time in epoch milliseconds
 */
export function createPasswordTickets(
  users: Pick<Users, 'get'>,
  key: PlatformKey,
  purpose: string,
  now: () => number = Date.now,
): PasswordTickets {
  /**
   * The text that is signed. It contains the time of the last password change, so a ticket works only for this user and
   * only until the password changes.
   */
  function textOf(solution: string, { uid, passwordChangedAt }: User, expiry: string): string {
    return `${solution === '' ? '' : `${solution} `}${expiry} ${passwordChangedAt} ${uid}`
  }

  return {
    issue(user, solution) {
      const expiry = String(now() + LIFETIME)
      const uid = Buffer.from(user.uid).toString('base64url')
      return `${expiry}.${key.sign(purpose, textOf(solution, user, expiry))}.${uid}`
    },
    async read(ticket, solution) {
      const [expiry = '', signature = '', uid = ''] = ticket.slice(0, LONGEST).split('.')
      if (!(Number(expiry) > now())) return null
      const user = await users.get(Buffer.from(uid, 'base64url').toString('utf8'))
      if (!user?.enabled) return null
      return key.verify(purpose, textOf(solution, user, expiry), signature) ? user : null
    },
  }
}
