import { createTokens, type StoredToken } from '../../base/api/tokens.ts'
import type { CenterDatabase } from '../database/tables.ts'
import { type Role, RoleName } from './roles.ts'

/** An API token's stored record, which doesn't include the token itself. */
export type ApiToken = StoredToken & {
  /** The organisation's id. */
  readonly organisation: string
  readonly role: Role
}

/** API tokens that tools use to call one organisation's API. */
export interface ApiTokens {
  /** Creates a token of 256 random bits. It can't be retrieved later, because only its hash is stored. */
  create(
    organisation: string,
    wanted: Pick<ApiToken, 'name' | 'role' | 'expiresAt'>,
  ): Promise<ApiToken & { readonly token: string }>
  /** @returns the tokens, oldest first, including expired ones */
  list(organisation: string): Promise<readonly ApiToken[]>
  /** @returns false if there is no such token */
  remove(organisation: string, id: string): Promise<boolean>
  /** @returns null for an unknown or expired token */
  find(token: string): Promise<ApiToken | null>
}

/** @param now returns the current time in epoch milliseconds */
export function createApiTokens(db: CenterDatabase, now: () => number = Date.now): ApiTokens {
  const tokens = createTokens<ApiToken>(
    db,
    {
      name: 'access_tokens',
      prefix: 'scc_',
      tokenOf: (stored, { organisation, role }) => {
        return { ...stored, organisation: String(organisation), role: RoleName.parse(role) }
      },
    },
    now,
  )

  return {
    create: (organisation, { name, role, expiresAt }) =>
      tokens.create({ organisation, name, role, expires_at: expiresAt }),
    list: (organisation) => tokens.list({ organisation }),
    remove: (organisation, id) => tokens.remove({ organisation, id }),
    find: tokens.find,
  }
}
