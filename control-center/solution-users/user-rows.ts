import type { Selectable } from 'kysely'
import type { AccountRows } from '../../base/accounts/password-check.ts'
import type { PLATFORM_LOCALES } from '../../base/web/texts.ts'
import type { Place } from '../access/of-solution.ts'
import type { CenterDatabase, CenterTables } from '../database/tables.ts'

export type SolutionUserRow = Selectable<CenterTables['solution_users']>

export type TenantValue = readonly (string | number)[]

/** A user of a solution. Times are epoch ms. */
export type SolutionUser = {
  readonly uid: string
  readonly username: string
  readonly displayName: string | null
  readonly email: string | null
  readonly emailVerifiedAt: number | null
  readonly mustVerifyEmail: boolean
  readonly locale: (typeof PLATFORM_LOCALES)[number]
  readonly enabled: boolean
  readonly tenant: TenantValue | null
  readonly roles: readonly string[]
  /** Permissions in addition to those that the user's roles grant. */
  readonly permissions: readonly string[]
  /** Null until the user has chosen a password. */
  readonly passwordChangedAt: number | null
  readonly lastLoginAt: number | null
  readonly createdAt: number
}

/** Maximum characters of a username; longer ones are not looked up. */
export const LONGEST_ASKED = 400

/** A condition that selects the users of one solution. */
export function rowsOf(db: CenterDatabase, { organisation, solution }: Place) {
  return db
    .selectFrom('solution_users')
    .selectAll()
    .where('organisation', '=', organisation)
    .where('solution', '=', solution)
}

/** Reads and updates users of solutions for the password check. @param now returns the current time in epoch milliseconds */
export function rowsWithPassword(db: CenterDatabase, now: () => number): AccountRows<SolutionUserRow> {
  const withHash = ({ uid, password_hash }: SolutionUserRow) =>
    db.updateTable('solution_users').where('uid', '=', uid).where('password_hash', '=', password_hash)
  return {
    async noteSignIn(row) {
      const update = withHash(row).where('enabled', '=', 1).set({ last_login_at: now() })
      return (await update.executeTakeFirst()).numUpdatedRows > 0n
    },
    noteRefusal() {},
    replaceHash: (row, stronger) => withHash(row).set({ password_hash: stronger }).execute(),
  }
}

export async function userOf(db: CenterDatabase, row: SolutionUserRow): Promise<SolutionUser> {
  return (await usersOfRows(db, [row]))[0] as SolutionUser
}

export async function usersOfRows(db: CenterDatabase, rows: readonly SolutionUserRow[]): Promise<SolutionUser[]> {
  const uids = rows.map(({ uid }) => uid)
  if (uids.length === 0) return []
  const roles = await db
    .selectFrom('solution_user_roles')
    .selectAll()
    .where('uid', 'in', uids)
    .orderBy('role')
    .execute()
  const permissions = await db
    .selectFrom('solution_user_permissions')
    .selectAll()
    .where('uid', 'in', uids)
    .orderBy('name')
    .execute()
  const [rolesOf, permissionsOf] = [Map.groupBy(roles, ({ uid }) => uid), Map.groupBy(permissions, ({ uid }) => uid)]
  return rows.map((row) => ({
    uid: row.uid,
    username: row.username,
    displayName: row.display_name,
    email: row.email,
    emailVerifiedAt: row.email_verified_at,
    mustVerifyEmail: row.must_verify === 1,
    locale: row.locale as SolutionUser['locale'],
    enabled: row.enabled === 1,
    tenant: row.tenant === null ? null : (JSON.parse(row.tenant) as TenantValue),
    roles: (rolesOf.get(row.uid) ?? []).map(({ role }) => role),
    permissions: (permissionsOf.get(row.uid) ?? []).map(({ name }) => name),
    passwordChangedAt: row.password_changed_at,
    lastLoginAt: row.last_login_at,
    createdAt: row.created_at,
  }))
}

/** The form of an address that lookups use. Mail servers may treat addresses as case-sensitive, but people don't. */
export function mailKey(address: string): string {
  return address.toLowerCase()
}
