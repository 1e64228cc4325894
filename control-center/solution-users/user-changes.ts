import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Passwords } from '../../base/accounts/passwords.ts'
import { checkUser, tidyName } from '../../base/accounts/user-rules.ts'
import { usernameKey } from '../../base/accounts/username.ts'
import { insertOnce, inTransaction, isUniqueViolation } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { z } from '../../runtime/zod.ts'
import type { Place } from '../access/of-solution.ts'
import type { CenterDatabase, CenterTables } from '../database/tables.ts'
import type { NewSolutionUser, SolutionUserChange } from './schemas.ts'
import { mailKey, type SolutionUserRow } from './user-rows.ts'

export type NewUser = Omit<z.infer<typeof NewSolutionUser>, 'invite'>
export type Change = Omit<z.infer<typeof SolutionUserChange>, 'username'> & { readonly username?: string | undefined }

/** Validates and stores new users, and changes to users. */
export interface UserChanges {
  /** @throws ERR_REQUEST_INVALID, ERR_NAME_EXISTS, ERR_PASSWORDS_BUSY */
  create(place: Place, wanted: NewUser): Promise<SolutionUserRow>
  /** @throws the errors of `create` */
  change(place: Place, before: SolutionUserRow, change: Change): Promise<void>
}

/** @param now returns the current time in epoch milliseconds */
export function createUserChanges(
  db: CenterDatabase,
  passwords: Passwords,
  limits: Limits,
  now: () => number,
): UserChanges {
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

  return {
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
      await inTransaction(db, async (transaction) => {
        if (!(await insertOnce(transaction, 'solution_users', row))) throw nameExists(username)
        await replaceRights(transaction, uid, wanted)
      })
      return row
    },
    async change(place, before, change) {
      const { username = before.username, email = before.email, roles = [] } = change
      refuseFaults(change, { username, email })
      await refuseUnknownRoles(place, roles)
      const columns = await columnsOf(change, before)
      await inTransaction(db, async (transaction) => {
        // Update the row even if no column changes. The lock makes other changes to the user's rights wait.
        const update = transaction
          .updateTable('solution_users')
          .set((row) => ({ enabled: row.ref('enabled'), ...columns }))
        await update.where('uid', '=', before.uid).execute()
        await replaceRights(transaction, before.uid, change)
      }).catch((error: unknown) => {
        throw isUniqueViolation(error) ? nameExists(username) : error
      })
    },
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

function nameExists(username: string): PlatformError {
  const name = JSON.stringify(tidyName(username))
  return new PlatformError(
    'ERR_NAME_EXISTS',
    `There is already a user ${name} (usernames are not case-sensitive). Choose another name.`,
  )
}
