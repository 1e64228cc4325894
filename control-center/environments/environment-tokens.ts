import { createTokens, type StoredToken } from '../../base/api/tokens.ts'
import type { CenterDatabase } from '../database/tables.ts'

/** A remote environment token's data, without the token itself. Times are epoch milliseconds. */
export type EnvironmentToken = Omit<StoredToken, 'expiresAt'> & {
  /** The environment's id. */
  readonly environment: string
  readonly lastUsedAt: number | null
}

/** The tokens that an environment's Satellites send, set in `REMOTE_ENVIRONMENT_TOKEN`. */
export interface EnvironmentTokens {
  /** Creates a token of 256 random bits. Only this result contains it, because only its hash is stored. */
  create(environment: string, name: string): Promise<EnvironmentToken & { readonly token: string }>
  /** @returns the environment's tokens, oldest first */
  list(environment: string): Promise<readonly EnvironmentToken[]>
  /** The tokens of all environments in an organisation, sorted by environment name, then from oldest to newest. */
  ofOrganisation(organisation: string): Promise<readonly (EnvironmentToken & { readonly environmentName: string })[]>
  /**
   * Revokes the token. All later requests with it are rejected.
   * @returns false if there is no such token
   */
  remove(environment: string, id: string): Promise<boolean>
  /** Called for every request from a Satellite; null if the token is unknown or revoked. */
  find(token: string): Promise<EnvironmentToken | null>
}

/** Minimum interval in ms between two updates of a token's last use. */
const NOTE_EVERY = 60_000

/** @param now returns the current time in epoch milliseconds */
export function createEnvironmentTokens(db: CenterDatabase, now: () => number = Date.now): EnvironmentTokens {
  const tokens = createTokens<EnvironmentToken>(
    db,
    {
      name: 'environment_tokens',
      prefix: 'ret_',
      tokenOf: ({ id, name, createdAt }, { environment, last_used_at: used = null }) => {
        return {
          id,
          name,
          createdAt,
          environment: String(environment),
          lastUsedAt: used === null ? null : Number(used),
        }
      },
    },
    now,
  )

  return {
    create: (environment, name) => tokens.create({ environment, name, last_used_at: null }),
    list: (environment) => tokens.list({ environment }),
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
      return rows.map(({ id, name, created_at, environment, last_used_at, environment_name }) => {
        return {
          id,
          name,
          createdAt: created_at,
          environment,
          lastUsedAt: last_used_at,
          environmentName: environment_name,
        }
      })
    },
    remove: (environment, id) => tokens.remove({ environment, id }),
    async find(token) {
      const found = await tokens.find(token)
      if (found !== null && (found.lastUsedAt ?? 0) < now() - NOTE_EVERY) {
        await db.updateTable('environment_tokens').set({ last_used_at: now() }).where('id', '=', found.id).execute()
      }
      return found
    },
  }
}
