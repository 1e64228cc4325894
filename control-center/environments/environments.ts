import { randomUUID } from 'node:crypto'
import { deletedAny } from '../../base/database/deleted-any.ts'
import { insertOnce } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { CenterDatabase } from '../database/tables.ts'

/**
 * The type of an environment. `onprem` is a Satellite, which was called "Remote (On-Premise)" before release 2026.03.
 */
export const ENVIRONMENT_TYPES = ['dev', 'uat', 'preprod', 'prod', 'onprem'] as const
export type EnvironmentType = (typeof ENVIRONMENT_TYPES)[number]

export const EnvironmentName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 lowercase letters, digits and hyphens')

/** A place where an organisation's solutions run. `organisation` is the organisation's id. */
export type Environment = {
  readonly id: string
  readonly organisation: string
  readonly name: string
  readonly type: EnvironmentType
  readonly createdAt: number
}

export interface Environments {
  /**
   * @throws ERR_NAME_EXISTS, or ERR_REQUEST_INVALID if the organisation already has the maximum number of environments
   */
  create(organisation: string, wanted: Pick<Environment, 'name' | 'type'>): Promise<Environment>
  /** @returns the organisation's environments, sorted by name */
  list(organisation: string): Promise<readonly Environment[]>
  /** @throws ERR_NOT_FOUND */
  need(organisation: string, name: string): Promise<Environment>
  byId(id: string): Promise<Environment | null>
  /** Deletes the environment, its tokens and all its stored data. @throws ERR_NOT_FOUND */
  remove(organisation: string, name: string): Promise<void>
  /** The solutions that the environment's token may read and sign users in to. */
  solutions(id: string): Promise<readonly string[]>
  addSolution(id: string, solution: string): Promise<void>
  /** @returns false if this solution wasn't in the environment's list */
  removeSolution(id: string, solution: string): Promise<boolean>
}

/**
 * Maximum environments per organisation. Chosen here: the same number as a rollout can include. Without this maximum,
 * the limits per environment would not limit an organisation.
 */
const MOST_ENVIRONMENTS = 200

/** @param now returns the current time in epoch milliseconds */
export function createEnvironments(db: CenterDatabase, now: () => number = Date.now): Environments {
  async function find(organisation: string, name: string): Promise<Environment | null> {
    const row = await db
      .selectFrom('environments')
      .selectAll()
      .where('organisation', '=', organisation)
      .where('name', '=', name.slice(0, 100))
      .executeTakeFirst()
    return row === undefined ? null : environmentOf(row)
  }

  async function need(organisation: string, name: string): Promise<Environment> {
    const environment = await find(organisation, name)
    if (environment !== null) return environment
    throw new PlatformError(
      'ERR_NOT_FOUND',
      `There is no environment "${name.slice(0, 100)}" in this organisation. Check the name.`,
    )
  }

  async function needRoom(organisation: string): Promise<void> {
    const { count } = await db
      .selectFrom('environments')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('organisation', '=', organisation)
      .executeTakeFirstOrThrow()
    if (Number(count) < MOST_ENVIRONMENTS) return
    const message = `An organisation can have at most ${MOST_ENVIRONMENTS} environments. Delete one first.`
    throw new PlatformError('ERR_REQUEST_INVALID', message)
  }

  return {
    need,
    async create(organisation, { name, type }) {
      await needRoom(organisation)
      const environment = { id: randomUUID(), organisation, name, type, createdAt: now() }
      const { createdAt, ...row } = environment
      if (await insertOnce(db, 'environments', { ...row, created_at: createdAt })) return environment
      throw new PlatformError('ERR_NAME_EXISTS', `There is already an environment "${name}". Choose another name.`)
    },
    async list(organisation) {
      const rows = await db
        .selectFrom('environments')
        .selectAll()
        .where('organisation', '=', organisation)
        .orderBy('name')
        .execute()
      return rows.map(environmentOf)
    },
    async byId(id) {
      const row = await db.selectFrom('environments').selectAll().where('id', '=', id).executeTakeFirst()
      return row === undefined ? null : environmentOf(row)
    },
    async remove(organisation, name) {
      const { id } = await need(organisation, name)
      await db.deleteFrom('environments').where('id', '=', id).execute()
    },
    async solutions(id) {
      const rows = await db
        .selectFrom('environment_solutions')
        .select('solution')
        .where('environment', '=', id)
        .orderBy('solution')
        .execute()
      return rows.map(({ solution }) => solution)
    },
    async addSolution(id, solution) {
      await insertOnce(db, 'environment_solutions', { environment: id, solution, added_at: now() })
    },
    async removeSolution(id, solution) {
      return deletedAny(
        db.deleteFrom('environment_solutions').where('environment', '=', id).where('solution', '=', solution),
      )
    },
  }
}

type Row = { id: string; organisation: string; name: string; type: string; created_at: number }

function environmentOf({ id, organisation, name, type, created_at }: Row): Environment {
  return { id, organisation, name, type: type as EnvironmentType, createdAt: created_at }
}
