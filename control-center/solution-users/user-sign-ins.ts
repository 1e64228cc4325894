import type { PasswordCheck } from '../../base/accounts/password-check.ts'
import { usernameKey } from '../../base/accounts/username.ts'
import type { Place } from '../access/of-solution.ts'
import type { CenterDatabase } from '../database/tables.ts'
import { LONGEST_ASKED, rowsOf, type SolutionUser, type SolutionUserRow, userOf } from './user-rows.ts'

export type SignedIn =
  | { readonly outcome: 'accepted'; readonly user: SolutionUser; readonly permissions: readonly string[] }
  | { readonly outcome: 'refused'; readonly reason: 'credentials' | 'verify'; readonly user: SolutionUser | null }

/** Decides whether a user may sign in, and which permissions they get. */
export interface UserSignIns {
  /**
   * Checks a password. For users who are unknown, disabled or without a password, the check takes as long as for a
   * wrong password.
   * @throws ERR_PASSWORDS_BUSY
   */
  authenticate(place: Place, username: string, password: string): Promise<SignedIn>
  /**
   * Decides whether a user who entered the password at `since` (epoch ms) may still sign in, and which permissions they
   * get.
   */
  recheck(place: Place, uid: string, since: number): Promise<SignedIn>
}

export function createUserSignIns(db: CenterDatabase, check: PasswordCheck<SolutionUserRow>): UserSignIns {
  const refused = { outcome: 'refused', reason: 'credentials' } as const

  /** Returns the permissions from the user's roles and the user's own permissions, without duplicates. */
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

  /** Chosen here: as with DEFAULT, a user without permissions can't sign in. `security.login` rejects an empty list. */
  async function answerFor(place: Place, user: SolutionUser): Promise<SignedIn> {
    if (user.mustVerifyEmail && user.emailVerifiedAt === null) return { outcome: 'refused', reason: 'verify', user }
    const permissions = await permissionsOf(place, user)
    if (permissions.length === 0) return { ...refused, user }
    return { outcome: 'accepted', user, permissions }
  }

  return {
    async authenticate(place, username, password) {
      const row =
        username.length <= LONGEST_ASKED
          ? await rowsOf(db, place).where('username_key', '=', usernameKey(username)).executeTakeFirst()
          : undefined
      const mayComeIn = await check.mayComeIn(row, password)
      if (row === undefined) return { ...refused, user: null }
      const user = await userOf(db, row)
      return mayComeIn ? answerFor(place, user) : { ...refused, user }
    },
    async recheck(place, uid, since) {
      const row = await rowsOf(db, place).where('uid', '=', uid).executeTakeFirst()
      if (row === undefined) return { ...refused, user: null }
      const user = await userOf(db, row)
      const isAsBefore = user.enabled && user.passwordChangedAt !== null && user.passwordChangedAt <= since
      return isAsBefore ? answerFor(place, user) : { ...refused, user }
    },
  }
}
