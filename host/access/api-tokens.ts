import { randomUUID } from 'node:crypto'
import { deletedAny } from '../../base/database/deleted-any.ts'
import type { Database } from '../../base/database/open.ts'
import { tokenForm } from '../../base/database/token-form.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'

/** `write` includes `read`. */
const SCOPE =
  /^(health:read|(solutions:(\*|(?!.{2}--)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)|users|sessions|audit|maintenance):(read|write))$/

export const Scope = z.string().max(100).regex(SCOPE, {
  error: 'must be solutions:{name or *}, users, sessions, audit or maintenance, then :read or :write; or health:read',
})

/** Without the token itself. `expiresAt` in epoch ms; null: never. */
export type ApiToken = {
  readonly id: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly expiresAt: number | null
}

export type NewApiToken = Pick<ApiToken, 'name' | 'scopes' | 'expiresAt'>

/** Tokens that tools use the API with, instead of the admin account. */
export interface ApiTokens {
  /**
   * `token` is known to the caller alone: 256 random bits, of which a hash is stored.
   * @throws ERR_REQUEST_INVALID when there are too many
   */
  create(wanted: NewApiToken): Promise<ApiToken & { readonly token: string }>
  /** The oldest first, expired ones too until they are swept. */
  list(): Promise<readonly ApiToken[]>
  /** It is worth nothing from now on, on any host. @returns false when there is none */
  remove(id: string): Promise<boolean>
  /** @returns null for an unknown or expired one */
  find(token: string): Promise<ApiToken | null>
  /** Removes those that expired long ago. */
  sweep(): Promise<void>
}

const FORM = tokenForm('sol_')
const MOST_TOKENS = 1000
/** An operator sees for this long why a tool is refused, in ms. */
const EXPIRED_KEPT = 30 * 86_400_000

/** @param now the clock, in epoch milliseconds */
export function createApiTokens(db: Database, now: () => number = Date.now): ApiTokens {
  const columns = ['id', 'name', 'scopes', 'expires_at'] as const

  return {
    async create({ name, scopes, expiresAt }) {
      const { count } = await db
        .selectFrom('api_tokens')
        .select(({ fn }) => fn.countAll().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count) >= MOST_TOKENS) {
        throw new PlatformError('ERR_REQUEST_INVALID', `There are ${MOST_TOKENS} tokens already; delete some first.`)
      }
      const { token, hash } = FORM.make()
      const id = randomUUID()
      await db
        .insertInto('api_tokens')
        .values({
          id,
          name,
          token_hash: hash,
          scopes: JSON.stringify(scopes),
          created_at: now(),
          expires_at: expiresAt,
        })
        .execute()
      return { id, name, scopes, expiresAt, token }
    },
    async list() {
      const rows = await db.selectFrom('api_tokens').select(columns).orderBy('created_at').orderBy('id').execute()
      return rows.map(tokenOf)
    },
    remove: (id) => deletedAny(db.deleteFrom('api_tokens').where('id', '=', id)),
    async find(token) {
      const hash = FORM.hashOf(token)
      if (hash === null) return null
      const row = await db.selectFrom('api_tokens').select(columns).where('token_hash', '=', hash).executeTakeFirst()
      const found = row === undefined ? null : tokenOf(row)
      return found === null || (found.expiresAt !== null && found.expiresAt <= now()) ? null : found
    },
    async sweep() {
      await db
        .deleteFrom('api_tokens')
        .where('expires_at', '<', now() - EXPIRED_KEPT)
        .execute()
    },
  }
}

function tokenOf(row: { id: string; name: string; scopes: string; expires_at: number | null }): ApiToken {
  return { id: row.id, name: row.name, scopes: JSON.parse(row.scopes) as string[], expiresAt: row.expires_at }
}
