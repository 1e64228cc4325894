import { insertOnce } from '../../base/database/portable.ts'
import type { Place } from '../access/of-solution.ts'
import type { Organisation } from '../access/organisation.ts'
import type { CenterDatabase } from '../database/tables.ts'

export type KnownSolution = {
  readonly name: string
  readonly users: number
  /** Version number of the published login page; null for the default page. */
  readonly loginPage: number | null
}

/** An organisation's solutions, collected from packages, environments, users, roles and login pages. */
export interface KnownSolutions {
  /** @returns the organisation's solutions, sorted by name */
  list(organisation: string): Promise<readonly KnownSolution[]>
  /** Adds a solution that has no package yet. */
  add(place: Place): Promise<void>
  /** @returns null if the organisation was deleted */
  organisation(id: string): Promise<Organisation | null>
  /** Deletes the solution's users, roles, login page and entry. */
  remove(place: Place): Promise<void>
}

/** @param now returns the current time in epoch milliseconds */
export function createKnownSolutions(db: CenterDatabase, now: () => number = Date.now): KnownSolutions {
  const named = (organisation: string) =>
    db.selectFrom('named_solutions').select('solution').where('organisation', '=', organisation)

  async function namesOf(organisation: string): Promise<readonly string[]> {
    const rows = await named(organisation)
      .union(db.selectFrom('solution_users').select('solution').where('organisation', '=', organisation))
      .union(db.selectFrom('solution_roles').select('solution').where('organisation', '=', organisation))
      .union(db.selectFrom('login_pages').select('solution').where('organisation', '=', organisation))
      .union(db.selectFrom('packages').select('name as solution').where('organisation', '=', organisation))
      .union(
        db
          .selectFrom('environment_solutions')
          .innerJoin('environments', 'environments.id', 'environment_solutions.environment')
          .select('solution')
          .where('organisation', '=', organisation),
      )
      .execute()
    return rows.map(({ solution }) => solution)
  }

  return {
    async list(organisation) {
      const users = await db
        .selectFrom('solution_users')
        .select((of) => ['solution', of.fn.countAll<number>().as('users')])
        .where('organisation', '=', organisation)
        .groupBy('solution')
        .execute()
      const pages = await db
        .selectFrom('login_pages')
        .select((of) => ['solution', of.fn.max('number').as('number')])
        .where('organisation', '=', organisation)
        .groupBy('solution')
        .execute()
      const names = [...new Set(await namesOf(organisation))].sort()
      return names.map((name) => ({
        name,
        users: Number(users.find(({ solution }) => solution === name)?.users ?? 0),
        loginPage: pages.find(({ solution }) => solution === name)?.number ?? null,
      }))
    },
    async add(place) {
      await insertOnce(db, 'named_solutions', { ...place, created_at: now() })
    },
    async organisation(id) {
      const row = db.selectFrom('organisations').select(['id', 'name', 'title']).where('id', '=', id)
      return (await row.executeTakeFirst()) ?? null
    },
    async remove({ organisation, solution }) {
      await db.transaction().execute(async (transaction) => {
        for (const table of [
          'solution_users',
          'solution_roles',
          'login_pages',
          'login_page_drafts',
          'named_solutions',
        ] as const) {
          const rows = transaction.deleteFrom(table).where('organisation', '=', organisation)
          await rows.where('solution', '=', solution).execute()
        }
      })
    },
  }
}
