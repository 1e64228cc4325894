import { randomUUID } from 'node:crypto'
import { deletedAny } from '../../base/database/deleted-any.ts'
import { tokenForm } from '../../base/database/token-form.ts'
import type { CenterDatabase } from '../database/tables.ts'

/** A remote environment token (guide 5.4), without the token itself. Times are epoch ms. */
export type EnvironmentToken = {
  readonly id: string
  /** The environment's id. */
  readonly environment: string
  readonly name: string
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

/** What the Satellites of an environment show, in `REMOTE_ENVIRONMENT_TOKEN`. */
export interface EnvironmentTokens {
  /** `token` is shown once: 256 random bits, of which a hash is stored. */
  create(environment: string, name: string): Promise<EnvironmentToken & { readonly token: string }>
  /** The oldest first. */
  list(environment: string): Promise<readonly EnvironmentToken[]>
  /** Of all its environments: by the environment's name, which comes along, then the oldest first. */
  ofOrganisation(organisation: string): Promise<readonly (EnvironmentToken & { readonly environmentName: string })[]>
  /** It is worth nothing from the next request on. @returns false when there is none */
  remove(environment: string, id: string): Promise<boolean>
  /** Asked at every request of a Satellite; null for an unknown or revoked one. */
  find(token: string): Promise<EnvironmentToken | null>
}

const FORM = tokenForm('ret_')
/** A use is written down at most this often, in ms. */
const NOTE_EVERY = 60_000

/** @param now the clock, in epoch milliseconds */
export function createEnvironmentTokens(db: CenterDatabase, now: () => number = Date.now): EnvironmentTokens {
  return {
    async create(environment, name) {
      const { token, hash } = FORM.make()
      const made = { id: randomUUID(), environment, name, createdAt: now(), lastUsedAt: null }
      await db
        .insertInto('environment_tokens')
        .values({
          id: made.id,
          environment,
          name,
          token_hash: hash,
          created_at: made.createdAt,
          last_used_at: null,
        })
        .execute()
      return { ...made, token }
    },
    async list(environment) {
      const rows = await db
        .selectFrom('environment_tokens')
        .selectAll()
        .where('environment', '=', environment)
        .orderBy('created_at')
        .orderBy('id')
        .execute()
      return rows.map(tokenOf)
    },
    async ofOrganisation(organisation) {
      const rows = await db
        .selectFrom('environment_tokens')
        .innerJoin('environments', 'environments.id', 'environment_tokens.environment')
        .selectAll('environment_tokens')
        .select('environments.name as environment_name')
        .where('environments.organisation', '=', organisation)
        .orderBy('environments.name')
        .orderBy('environment_tokens.created_at')
        .orderBy('environment_tokens.id')
        .execute()
      return rows.map((row) => ({ ...tokenOf(row), environmentName: row.environment_name }))
    },
    remove: (environment, id) =>
      deletedAny(db.deleteFrom('environment_tokens').where('environment', '=', environment).where('id', '=', id)),
    async find(token) {
      const hash = FORM.hashOf(token)
      if (hash === null) return null
      const row = await db
        .selectFrom('environment_tokens')
        .selectAll()
        .where('token_hash', '=', hash)
        .executeTakeFirst()
      if (row === undefined) return null
      if ((row.last_used_at ?? 0) < now() - NOTE_EVERY) {
        await db.updateTable('environment_tokens').set({ last_used_at: now() }).where('id', '=', row.id).execute()
      }
      return tokenOf(row)
    },
  }
}

type Row = { id: string; environment: string; name: string; created_at: number; last_used_at: number | null }

function tokenOf({ id, environment, name, created_at, last_used_at }: Row): EnvironmentToken {
  return { id, environment, name, createdAt: created_at, lastUsedAt: last_used_at }
}
