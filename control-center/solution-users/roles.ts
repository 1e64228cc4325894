import { deletedAny } from '../../base/database/deleted-any.ts'
import { put } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Place } from '../access/of-solution.ts'
import type { CenterDatabase } from '../database/tables.ts'

/** A named set of permissions. `users` is the number of users who have the role. */
export type SolutionRole = {
  readonly name: string
  readonly permissions: readonly string[]
  readonly users: number
}

export interface SolutionRoles {
  /** @returns the solution's roles, sorted by name */
  list(place: Place): Promise<readonly SolutionRole[]>
  /** @throws ERR_REQUEST_INVALID if the solution already has the maximum number of roles */
  put(place: Place, name: string, permissions: readonly string[]): Promise<SolutionRole>
  /** Deletes a role, and removes it from all users. @returns false if there is no such role */
  remove(place: Place, name: string): Promise<boolean>
}

const MOST_ROLES = 200

export function createSolutionRoles(db: CenterDatabase): SolutionRoles {
  async function list({ organisation, solution }: Place): Promise<readonly SolutionRole[]> {
    const rows = await db
      .selectFrom('solution_roles')
      .select(['name', 'permissions'])
      .where('organisation', '=', organisation)
      .where('solution', '=', solution)
      .orderBy('name')
      .execute()
    const counts = await db
      .selectFrom('solution_user_roles')
      .innerJoin('solution_users', 'solution_users.uid', 'solution_user_roles.uid')
      .where('organisation', '=', organisation)
      .where('solution', '=', solution)
      .select((of) => ['role', of.fn.countAll<number>().as('users')])
      .groupBy('role')
      .execute()
    const users = new Map(counts.map((one) => [one.role, Number(one.users)]))
    return rows.map(({ name, permissions }) => ({
      name,
      permissions: JSON.parse(permissions) as string[],
      users: users.get(name) ?? 0,
    }))
  }

  return {
    list,
    async put(place, name, given) {
      const permissions = [...new Set(given)]
      const roles = await list(place)
      const known = roles.find((one) => one.name === name)
      if (known === undefined && roles.length >= MOST_ROLES) {
        throw new PlatformError(
          'ERR_REQUEST_INVALID',
          `"${place.solution}" already has ${MOST_ROLES} roles, which is the maximum. Delete one first.`,
        )
      }
      const { organisation, solution } = place
      const row = { organisation, solution, name, permissions: JSON.stringify(permissions) }
      await put(db, 'solution_roles', ['organisation', 'solution', 'name'], row)
      return { name, permissions, users: known?.users ?? 0 }
    },
    async remove({ organisation, solution }, name) {
      return db.transaction().execute(async (transaction) => {
        const its = transaction
          .selectFrom('solution_users')
          .select('uid')
          .where('organisation', '=', organisation)
          .where('solution', '=', solution)
        await transaction.deleteFrom('solution_user_roles').where('role', '=', name).where('uid', 'in', its).execute()
        return deletedAny(
          transaction
            .deleteFrom('solution_roles')
            .where('organisation', '=', organisation)
            .where('solution', '=', solution)
            .where('name', '=', name),
        )
      })
    },
  }
}
