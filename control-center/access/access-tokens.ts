import { randomUUID } from 'node:crypto'
import { deletedAny } from '../../base/database/deleted-any.ts'
import { tokenForm } from '../../base/database/token-form.ts'
import type { CenterDatabase } from '../database/tables.ts'
import type { Role } from './roles.ts'

/** Without the token itself. `expiresAt` in epoch ms; null: never. */
export type AccessToken = {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly createdAt: number
  readonly expiresAt: number | null
}

/** Tokens that tools use the API of one organisation with. */
export interface AccessTokens {
  /** `token` is known to the caller alone: 256 random bits, of which a hash is stored. */
  create(
    organisation: string,
    wanted: Pick<AccessToken, 'name' | 'role' | 'expiresAt'>,
  ): Promise<AccessToken & { readonly token: string }>
  /** The oldest first, expired ones too. */
  list(organisation: string): Promise<readonly AccessToken[]>
  /** @returns false when there is none */
  remove(organisation: string, id: string): Promise<boolean>
  /** @returns null for an unknown or expired one */
  find(token: string): Promise<(AccessToken & { readonly organisation: string }) | null>
}

const FORM = tokenForm('scc_')

/** @param now the clock, in epoch milliseconds */
export function createAccessTokens(db: CenterDatabase, now: () => number = Date.now): AccessTokens {
  return {
    async create(organisation, { name, role, expiresAt }) {
      const { token, hash } = FORM.make()
      const made = { id: randomUUID(), name, role, createdAt: now(), expiresAt }
      await db
        .insertInto('access_tokens')
        .values({
          id: made.id,
          organisation,
          name,
          role,
          token_hash: hash,
          created_at: made.createdAt,
          expires_at: expiresAt,
        })
        .execute()
      return { ...made, token }
    },
    async list(organisation) {
      const rows = await db
        .selectFrom('access_tokens')
        .selectAll()
        .where('organisation', '=', organisation)
        .orderBy('created_at')
        .orderBy('id')
        .execute()
      return rows.map(tokenOf)
    },
    remove: (organisation, id) =>
      deletedAny(db.deleteFrom('access_tokens').where('organisation', '=', organisation).where('id', '=', id)),
    async find(token) {
      const hash = FORM.hashOf(token)
      if (hash === null) return null
      const row = await db.selectFrom('access_tokens').selectAll().where('token_hash', '=', hash).executeTakeFirst()
      if (row === undefined || (row.expires_at !== null && row.expires_at <= now())) return null
      return { ...tokenOf(row), organisation: row.organisation }
    },
  }
}

type Row = { id: string; name: string; role: string; created_at: number; expires_at: number | null }

function tokenOf({ id, name, role, created_at, expires_at }: Row): AccessToken {
  return { id, name, role: role as Role, createdAt: created_at, expiresAt: expires_at }
}
