import { createTokens, type StoredToken } from '../../base/api/tokens.ts'
import type { Database } from '../../base/database/open.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'

/** `write` includes `read`. */
const SCOPE =
  /^(health:read|(solutions:(\*|(?!.{2}--)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)|users|sessions|audit|maintenance):(read|write))$/

export const Scope = z.string().max(100).regex(SCOPE, {
  error: 'must be solutions:{name or *}, users, sessions, audit or maintenance, then :read or :write; or health:read',
})

/** Without the token itself. */
export type ApiToken = Pick<StoredToken, 'id' | 'name' | 'expiresAt'> & { readonly scopes: readonly string[] }

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

const MOST_TOKENS = 1000
/** An operator sees for this long why a tool is refused, in ms. */
const EXPIRED_KEPT = 30 * 86_400_000

/** @param now the clock, in epoch milliseconds */
export function createApiTokens(db: Database, now: () => number = Date.now): ApiTokens {
  const tokens = createTokens<ApiToken>(
    db,
    {
      name: 'api_tokens',
      prefix: 'sol_',
      tokenOf: ({ id, name, expiresAt }, { scopes }) => {
        return { id, name, scopes: JSON.parse(String(scopes)) as string[], expiresAt }
      },
    },
    now,
  )

  return {
    async create({ name, scopes, expiresAt }) {
      if ((await tokens.count()) >= MOST_TOKENS) {
        throw new PlatformError('ERR_REQUEST_INVALID', `There are ${MOST_TOKENS} tokens already; delete some first.`)
      }
      return tokens.create({ name, scopes: JSON.stringify(scopes), expires_at: expiresAt })
    },
    list: () => tokens.list(),
    remove: (id) => tokens.remove({ id }),
    find: tokens.find,
    sweep: () => tokens.removeExpired(now() - EXPIRED_KEPT),
  }
}
