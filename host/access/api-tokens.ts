import { createTokens, type StoredToken } from '../../base/api/tokens.ts'
import type { Tenant } from '../../plugins/security/host.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { HostDatabase } from '../database/tables.ts'

/**
 * The scopes of API tokens. `write` includes `read`. `call` only lets a token call the endpoints of one solution, with
 * the token's permissions. No other scope includes `call`, not even `admin`.
 */
const SCOPE =
  /^(admin|health:read|(solutions:(\*|(?!.{2}--)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)|users|sessions|audit|maintenance):(read|write)|solutions:(?!.{2}--)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?:call)$/

export const Scope = z.string().max(100).regex(SCOPE, {
  error:
    'must be admin, health:read, solutions:{name}:call, {area}:read or {area}:write, where {area} is solutions:{name}, solutions:*, users, sessions, audit or maintenance',
})

/** An API token's stored record, which doesn't include the token itself. */
export type ApiToken = Pick<StoredToken, 'id' | 'name' | 'expiresAt'> & {
  readonly scopes: readonly string[]
  /** The permissions that apply when the token calls an endpoint. */
  readonly permissions: readonly string[]
  readonly tenant: Tenant | null
}

export type NewApiToken = Pick<ApiToken, 'name' | 'scopes' | 'expiresAt'> &
  Partial<Pick<ApiToken, 'permissions' | 'tenant'>>

/** API tokens, which tools use instead of the admin account. */
export interface ApiTokens {
  /**
   * `token` has 256 random bits. Only its hash is stored, so the token can't be shown again.
   * @throws ERR_REQUEST_INVALID if there are too many tokens
   */
  create(wanted: NewApiToken): Promise<ApiToken & { readonly token: string }>
  /** @returns the tokens, oldest first, including expired ones that have not been removed yet */
  list(): Promise<readonly ApiToken[]>
  /** Revokes the token immediately on all hosts. @returns false if there is no such token */
  remove(id: string): Promise<boolean>
  /** @returns null if the token is unknown or expired */
  find(token: string): Promise<ApiToken | null>
  /** @returns null if there is no such token, or if it is expired */
  withId(id: string): Promise<ApiToken | null>
  /** Removes tokens that expired more than `EXPIRED_KEPT` ago. */
  sweep(): Promise<void>
}

const MOST_TOKENS = 1000
/** How long expired tokens stay listed, in ms, so that an operator can see why a tool is rejected. */
const EXPIRED_KEPT = 30 * 86_400_000

/** @param now returns the current time in epoch milliseconds */
export function createApiTokens(db: HostDatabase, now: () => number = Date.now): ApiTokens {
  const tokens = createTokens<ApiToken>(
    db,
    {
      name: 'api_tokens',
      prefix: 'sol_',
      tokenOf: ({ id, name, expiresAt }, { scopes, permissions = null, tenant = null }) => ({
        id,
        name,
        scopes: JSON.parse(String(scopes)) as string[],
        expiresAt,
        permissions: permissions === null ? [] : (JSON.parse(String(permissions)) as string[]),
        tenant: tenant === null ? null : (JSON.parse(String(tenant)) as Tenant),
      }),
    },
    now,
  )

  return {
    async create({ name, scopes, expiresAt, permissions = [], tenant = null }) {
      if ((await tokens.count()) >= MOST_TOKENS) {
        throw new PlatformError(
          'ERR_REQUEST_INVALID',
          `There are already ${MOST_TOKENS} tokens, which is the maximum. Delete some first.`,
        )
      }
      return tokens.create({
        name,
        scopes: JSON.stringify(scopes),
        expires_at: expiresAt,
        permissions: permissions.length === 0 ? null : JSON.stringify(permissions),
        tenant: tenant === null ? null : JSON.stringify(tenant),
      })
    },
    list: () => tokens.list(),
    remove: (id) => tokens.remove({ id }),
    find: tokens.find,
    withId: tokens.withId,
    sweep: () => tokens.removeExpired(now() - EXPIRED_KEPT),
  }
}
