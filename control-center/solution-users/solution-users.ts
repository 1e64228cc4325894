import { randomUUID } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { createPasswordCheck } from '../../base/accounts/password-check.ts'
import type { PasswordFault } from '../../base/accounts/password-rules.ts'
import type { Passwords } from '../../base/accounts/passwords.ts'
import { checkUser, tidyName } from '../../base/accounts/user-rules.ts'
import { usernameKey } from '../../base/accounts/username.ts'
import { firstRows, insertOnce, isUniqueViolation } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { z } from '../../runtime/zod.ts'
import type { Place } from '../access/of-solution.ts'
import type { CenterDatabase, CenterTables } from '../database/tables.ts'
import type { NewSolutionUser, SolutionUserChange, SolutionUserQuery } from './schemas.ts'
import { mailKey, rowsWithPassword, type SolutionUser, type SolutionUserRow, usersOfRows } from './user-rows.ts'

export type SignedIn =
  | { readonly outcome: 'accepted'; readonly user: SolutionUser; readonly permissions: readonly string[] }
  | { readonly outcome: 'refused'; readonly reason: 'credentials' | 'verify'; readonly user: SolutionUser | null }

type Change = Omit<z.infer<typeof SolutionUserChange>, 'username'> & { readonly username?: string | undefined }

/**
 * Users of solutions, who sign in at Satellites with PLATFORM_CLOUD. Each solution of each organisation has its own
 * users.
 */
export interface SolutionUsers {
  /** Sorted by name. */
  list(
    place: Place,
    query: z.infer<typeof SolutionUserQuery>,
  ): Promise<{ readonly items: readonly SolutionUser[]; readonly next?: string }>
  /** @throws ERR_USER_NOT_FOUND */
  need(place: Place, uid: string): Promise<SolutionUser>
  /** Users with this user name; if there are none, users with this e-mail address, at most five. */
  findByNameOrMail(place: Place, text: string): Promise<readonly SolutionUser[]>
  /** @throws ERR_REQUEST_INVALID, ERR_NAME_EXISTS, ERR_PASSWORDS_BUSY */
  create(place: Place, wanted: Omit<z.infer<typeof NewSolutionUser>, 'invite'>): Promise<SolutionUser>
  /** A new e-mail address must be confirmed again. @throws as `create`, and ERR_USER_NOT_FOUND */
  change(place: Place, uid: string, change: Change): Promise<SolutionUser>
  /** @throws ERR_USER_NOT_FOUND */
  remove(place: Place, uid: string): Promise<void>
  /**
   * Unknown users, disabled users and users without a password take as long as a wrong password.
   * @throws ERR_PASSWORDS_BUSY
   */
  authenticate(place: Place, username: string, password: string): Promise<SignedIn>
  /** Whether a user who entered the password at `since` (epoch ms) may still sign in, and with which permissions. */
  recheck(place: Place, uid: string, since: number): Promise<SignedIn>
  /** Why a password is not accepted, or null. @throws ERR_PASSWORDS_BUSY */
  passwordFault(uid: string, password: string): Promise<PasswordFault | null>
}

/** Longer user names are not looked up, in characters. */
const LONGEST_ASKED = 400
const MOST_OF_ONE_ADDRESS = 5

/** @param now the clock, in epoch milliseconds */
export function createSolutionUsers(
  db: CenterDatabase,
  passwords: Passwords,
  limits: Limits,
  now: () => number = Date.now,
): SolutionUsers {
  const check = createPasswordCheck(passwords, limits, rowsWithPassword(db, now))
  const rowsOf = ({ organisation, solution }: Place) =>
    db
      .selectFrom('solution_users')
      .selectAll()
      .where('organisation', '=', organisation)
      .where('solution', '=', solution)

  async function userOf(row: SolutionUserRow): Promise<SolutionUser> {
    return (await usersOfRows(db, [row]))[0] as SolutionUser
  }

  async function needRow(place: Place, uid: string): Promise<SolutionUserRow> {
    const row = await rowsOf(place).where('uid', '=', uid.slice(0, 100)).executeTakeFirst()
    if (row !== undefined) return row
    throw new PlatformError(
      'ERR_USER_NOT_FOUND',
      `"${place.solution}" has no such user. The user may have been deleted.`,
    )
  }

  async function refuseUnknownRoles({ organisation, solution }: Place, roles: readonly string[]): Promise<void> {
    if (roles.length === 0) return
    const known = await db
      .selectFrom('solution_roles')
      .select('name')
      .where('organisation', '=', organisation)
      .where('solution', '=', solution)
      .where('name', 'in', [...roles])
      .execute()
    const unknown = roles.find((role) => !known.some(({ name }) => name === role))
    if (unknown === undefined) return
    throw new PlatformError('ERR_REQUEST_INVALID', `"${solution}" has no role "${unknown}". Create it first.`)
  }

  function refuseFaults(change: Change, owner: { readonly username: string; readonly email: string | null }): void {
    const { username, displayName, password } = change
    const [fault] = checkUser({ username, displayName, password }, owner, limits)
    if (fault !== undefined) throw new PlatformError('ERR_REQUEST_INVALID', fault.message, { faults: [fault] })
  }

  async function columnsOf(change: Change, before: SolutionUserRow | null) {
    const { username, displayName, email, emailVerified, mustVerifyEmail, locale, enabled, tenant, password } = change
    const isOtherMail = email !== undefined && mailKey(email ?? '') !== (before?.email_key ?? '')
    return {
      ...(username === undefined ? {} : { username: tidyName(username), username_key: usernameKey(username) }),
      ...(displayName === undefined ? {} : { display_name: displayName === null ? null : tidyName(displayName) }),
      ...(email === undefined ? {} : { email, email_key: email === null ? null : mailKey(email) }),
      ...(isOtherMail ? { email_verified_at: null } : {}),
      ...(emailVerified === undefined ? {} : { email_verified_at: emailVerified ? now() : null }),
      ...(mustVerifyEmail === undefined ? {} : { must_verify: mustVerifyEmail ? 1 : 0 }),
      ...(locale === undefined ? {} : { locale }),
      ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
      ...(tenant === undefined ? {} : { tenant: tenant === null ? null : JSON.stringify(tenant) }),
      ...(password === undefined ? {} : { password_hash: await passwords.hash(password), password_changed_at: now() }),
    }
  }

  async function replaceRights(transaction: Kysely<CenterTables>, uid: string, change: Change): Promise<void> {
    const { roles, permissions } = change
    if (roles !== undefined) {
      await transaction.deleteFrom('solution_user_roles').where('uid', '=', uid).execute()
      for (const role of new Set(roles)) await insertOnce(transaction, 'solution_user_roles', { uid, role })
    }
    if (permissions !== undefined) {
      await transaction.deleteFrom('solution_user_permissions').where('uid', '=', uid).execute()
      for (const name of new Set(permissions)) await insertOnce(transaction, 'solution_user_permissions', { uid, name })
    }
  }

  /** From roles and direct permissions, without duplicates. */
  async function permissionsOf({ organisation, solution }: Place, user: SolutionUser): Promise<readonly string[]> {
    const roles =
      user.roles.length === 0
        ? []
        : await db
            .selectFrom('solution_roles')
            .select('permissions')
            .where('organisation', '=', organisation)
            .where('solution', '=', solution)
            .where('name', 'in', [...user.roles])
            .execute()
    const ofRoles = roles.flatMap(({ permissions }) => JSON.parse(permissions) as string[])
    return [...new Set([...ofRoles, ...user.permissions])].sort()
  }

  /**
   * Chosen here: a user without permissions can't sign in, as with DEFAULT, because `security.login` rejects an empty
   * list.
   */
  async function answerFor(place: Place, user: SolutionUser): Promise<SignedIn> {
    if (user.mustVerifyEmail && user.emailVerifiedAt === null) return { outcome: 'refused', reason: 'verify', user }
    const permissions = await permissionsOf(place, user)
    if (permissions.length === 0) return { outcome: 'refused', reason: 'credentials', user }
    return { outcome: 'accepted', user, permissions }
  }

  function nameExists(username: string): PlatformError {
    const name = JSON.stringify(tidyName(username))
    return new PlatformError(
      'ERR_NAME_EXISTS',
      `There is already a user ${name} (upper and lower case are the same). Choose another name.`,
    )
  }

  return {
    async list(place, { limit, after, search = '' }) {
      let query = rowsOf(place).orderBy('username_key')
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
      return userOf(await needRow(place, uid))
    },
    async findByNameOrMail(place, text) {
      if (text.length > LONGEST_ASKED) return []
      const named = await rowsOf(place).where('username_key', '=', usernameKey(text)).execute()
      const addressed = rowsOf(place).where('email_key', '=', mailKey(text.trim())).orderBy('username_key')
      const rows = await firstRows(db, addressed, MOST_OF_ONE_ADDRESS).execute()
      return usersOfRows(db, named.length > 0 ? named : rows)
    },
    async create(place, wanted) {
      const { username, email = null, roles = [] } = wanted
      refuseFaults(wanted, { username, email })
      await refuseUnknownRoles(place, roles)
      const uid = randomUUID()
      const row: SolutionUserRow = {
        uid,
        organisation: place.organisation,
        solution: place.solution,
        display_name: null,
        email: null,
        email_key: null,
        email_verified_at: null,
        must_verify: 0,
        locale: 'en',
        enabled: 1,
        tenant: null,
        password_hash: null,
        password_changed_at: null,
        last_login_at: null,
        created_at: now(),
        username: tidyName(username),
        username_key: usernameKey(username),
        ...(await columnsOf(wanted, null)),
      }
      await db.transaction().execute(async (transaction) => {
        if (!(await insertOnce(transaction, 'solution_users', row))) throw nameExists(username)
        await replaceRights(transaction, uid, wanted)
      })
      return userOf(row)
    },
    async change(place, uid, change) {
      const before = await needRow(place, uid)
      const { username = before.username, email = before.email, roles = [] } = change
      refuseFaults(change, { username, email })
      await refuseUnknownRoles(place, roles)
      const columns = await columnsOf(change, before)
      await db
        .transaction()
        .execute(async (transaction) => {
          if (Object.keys(columns).length > 0) {
            await transaction.updateTable('solution_users').set(columns).where('uid', '=', before.uid).execute()
          }
          await replaceRights(transaction, before.uid, change)
        })
        .catch((error: unknown) => {
          throw isUniqueViolation(error) ? nameExists(username) : error
        })
      return userOf(await needRow(place, uid))
    },
    async remove(place, uid) {
      const row = await needRow(place, uid)
      await db.deleteFrom('solution_users').where('uid', '=', row.uid).execute()
    },
    async authenticate(place, username, password) {
      const row =
        username.length <= LONGEST_ASKED
          ? await rowsOf(place).where('username_key', '=', usernameKey(username)).executeTakeFirst()
          : undefined
      const mayComeIn = await check.mayComeIn(row, password)
      const refused = { outcome: 'refused', reason: 'credentials' } as const
      if (row === undefined) return { ...refused, user: null }
      const user = await userOf(row)
      return mayComeIn ? answerFor(place, user) : { ...refused, user }
    },
    async recheck(place, uid, since) {
      const row = await rowsOf(place).where('uid', '=', uid).executeTakeFirst()
      const refused = { outcome: 'refused', reason: 'credentials' } as const
      if (row === undefined) return { ...refused, user: null }
      const user = await userOf(row)
      const isAsBefore = user.enabled && user.passwordChangedAt !== null && user.passwordChangedAt <= since
      return isAsBefore ? answerFor(place, user) : { ...refused, user }
    },
    async passwordFault(uid, password) {
      const row = await db.selectFrom('solution_users').selectAll().where('uid', '=', uid).executeTakeFirstOrThrow()
      return check.faultOfNew(row, password)
    },
  }
}

/** Escapes with `!`, which means the same on all database servers; a backslash does not. */
function likeOf(prefix: string): string {
  return `${prefix.replace(/[!%_[\]]/g, '!$&')}%`
}
