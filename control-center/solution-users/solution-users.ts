import { sql } from 'kysely'
import { createPasswordCheck } from '../../base/accounts/password-check.ts'
import type { PasswordFault } from '../../base/accounts/password-rules.ts'
import type { Passwords } from '../../base/accounts/passwords.ts'
import { usernameKey } from '../../base/accounts/username.ts'
import { firstRows } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { z } from '../../runtime/zod.ts'
import type { Place } from '../access/of-solution.ts'
import type { CenterDatabase } from '../database/tables.ts'
import type { SolutionUserQuery } from './schemas.ts'
import { type Change, createUserChanges, type NewUser } from './user-changes.ts'
import {
  LONGEST_ASKED,
  mailKey,
  rowsOf,
  rowsWithPassword,
  type SolutionUser,
  type SolutionUserRow,
  userOf,
  usersOfRows,
} from './user-rows.ts'
import { createUserSignIns, type UserSignIns } from './user-sign-ins.ts'

/**
 * Users of solutions, who sign in at Satellites with PLATFORM_CLOUD. Every solution in every organisation has its own
 * users.
 */
export interface SolutionUsers extends UserSignIns {
  /** Lists the solution's users, sorted by name. */
  list(
    place: Place,
    query: z.infer<typeof SolutionUserQuery>,
  ): Promise<{ readonly items: readonly SolutionUser[]; readonly next?: string }>
  /** @throws ERR_USER_NOT_FOUND */
  need(place: Place, uid: string): Promise<SolutionUser>
  /** Returns the users with this username. If there are none, returns up to five users with this email address. */
  findByNameOrMail(place: Place, text: string): Promise<readonly SolutionUser[]>
  /** @throws ERR_REQUEST_INVALID, ERR_NAME_EXISTS, ERR_PASSWORDS_BUSY */
  create(place: Place, wanted: NewUser): Promise<SolutionUser>
  /**
   * Changes a user. A new email address must be confirmed again.
   * @throws the errors of `create`, and ERR_USER_NOT_FOUND
   */
  change(place: Place, uid: string, change: Change): Promise<SolutionUser>
  /** @throws ERR_USER_NOT_FOUND */
  remove(place: Place, uid: string): Promise<void>
  /**
   * Returns the reason why a password is not accepted; null if it is accepted.
   * @throws ERR_PASSWORDS_BUSY
   */
  passwordFault(uid: string, password: string): Promise<PasswordFault | null>
}

const MOST_OF_ONE_ADDRESS = 5

/** @param now returns the current time in epoch milliseconds */
export function createSolutionUsers(
  db: CenterDatabase,
  passwords: Passwords,
  limits: Limits,
  now: () => number = Date.now,
): SolutionUsers {
  const check = createPasswordCheck(passwords, limits, rowsWithPassword(db, now))
  const changes = createUserChanges(db, passwords, limits, now)

  async function needRow(place: Place, uid: string): Promise<SolutionUserRow> {
    const row = await rowsOf(db, place).where('uid', '=', uid.slice(0, 100)).executeTakeFirst()
    if (row !== undefined) return row
    throw new PlatformError(
      'ERR_USER_NOT_FOUND',
      `"${place.solution}" has no user with the uid "${uid.slice(0, 100)}". The user may have been deleted.`,
    )
  }

  return {
    ...createUserSignIns(db, check),
    async list(place, { limit, after, search = '' }) {
      let query = rowsOf(db, place).orderBy('username_key')
      if (after !== undefined) query = query.where('username_key', '>', after)
      const [ofName, ofMail] = [likeOf(usernameKey(search)), likeOf(mailKey(search.trim()))]
      if (search.trim() !== '') {
        query = query.where(
          sql<boolean>`(username_key like ${ofName} escape '!' or email_key like ${ofMail} escape '!')`,
        )
      }
      const rows = await firstRows(db, query, limit + 1).execute()
      const items = await usersOfRows(db, rows.slice(0, limit))
      const last = rows.length > limit ? rows[limit - 1] : undefined
      return last === undefined ? { items } : { items, next: last.username_key }
    },
    async need(place, uid) {
      return userOf(db, await needRow(place, uid))
    },
    async findByNameOrMail(place, text) {
      if (text.length > LONGEST_ASKED) return []
      const named = await rowsOf(db, place).where('username_key', '=', usernameKey(text)).execute()
      const addressed = rowsOf(db, place).where('email_key', '=', mailKey(text.trim())).orderBy('username_key')
      const rows = await firstRows(db, addressed, MOST_OF_ONE_ADDRESS).execute()
      return usersOfRows(db, named.length > 0 ? named : rows)
    },
    async create(place, wanted) {
      return userOf(db, await changes.create(place, wanted))
    },
    async change(place, uid, change) {
      await changes.change(place, await needRow(place, uid), change)
      return userOf(db, await needRow(place, uid))
    },
    async remove(place, uid) {
      const row = await needRow(place, uid)
      await db.deleteFrom('solution_users').where('uid', '=', row.uid).execute()
    },
    async passwordFault(uid, password) {
      const row = await db.selectFrom('solution_users').selectAll().where('uid', '=', uid).executeTakeFirstOrThrow()
      return check.faultOfNew(row, password)
    },
  }
}

/** Uses `!` as the escape character, because a backslash doesn't have the same meaning on every database server. */
function likeOf(prefix: string): string {
  return `${prefix.replace(/[!%_[\]]/g, '!$&')}%`
}
