import { randomUUID } from 'node:crypto'
import { deletedAny } from '../database/deleted-any.ts'
import type { Database } from '../database/open.ts'
import { tokenForm } from '../database/token-form.ts'

type Value = string | number | null
type Columns = Readonly<Record<string, Value>>

/** A token's data, without the token itself. Times are in epoch ms. `expiresAt` is null if the token never expires. */
export type StoredToken = {
  readonly id: string
  readonly name: string
  readonly createdAt: number
  readonly expiresAt: number | null
}

export type TokenTable<Token> = {
  readonly name: string
  /** The prefix of all tokens in the table: see `tokenForm`. */
  readonly prefix: string
  /** Adds the values of the table's additional columns to a token's data. */
  tokenOf(stored: StoredToken, row: Columns): Token
}

/** The tokens in one table. The database stores only hashes of tokens. */
export interface Tokens<Token> {
  /**
   * @param columns the table's additional columns
   * @returns the token's data and `token`, the token itself: 256 random bits, which can't be read again
   */
  create(columns: Columns & { readonly name: string }): Promise<Token & { readonly token: string }>
  /** Returns the tokens whose columns have these values, oldest first. Includes expired tokens. */
  list(where?: Columns): Promise<readonly Token[]>
  count(): Promise<number>
  /** Revokes a token. All hosts reject it immediately. @returns false if it does not exist */
  remove(where: Columns & { readonly id: string }): Promise<boolean>
  /** @returns null if the token is unknown or expired */
  find(token: string): Promise<Token | null>
  /** @returns null if the token doesn't exist or is expired */
  withId(id: string): Promise<Token | null>
  /** Deletes tokens that expired before `time`, in epoch ms. */
  removeExpired(time: number): Promise<void>
}

/** @param now returns the current time in epoch milliseconds */
export function createTokens<Token>(
  platform: Database,
  { name: table, prefix, tokenOf }: TokenTable<Token>,
  now: () => number,
): Tokens<Token> {
  const db = platform.withTables<Record<string, Columns>>()
  const form = tokenForm(prefix)

  function read(row: Columns): StoredToken {
    const { id, name, created_at, expires_at = null } = row
    const expiresAt = expires_at === null ? null : Number(expires_at)
    return { id: String(id), name: String(name), createdAt: Number(created_at), expiresAt }
  }

  async function findBy(column: 'id' | 'token_hash', value: string): Promise<Token | null> {
    const row = await db.selectFrom(table).selectAll().where(column, '=', value).executeTakeFirst()
    if (row === undefined) return null
    const stored = read(row)
    return stored.expiresAt !== null && stored.expiresAt <= now() ? null : tokenOf(stored, row)
  }

  return {
    async create(columns) {
      const { token, hash } = form.make()
      const row = { ...columns, id: randomUUID(), created_at: now() }
      await db
        .insertInto(table)
        .values({ ...row, token_hash: hash })
        .execute()
      return { ...tokenOf(read(row), row), token }
    },
    async list(where = {}) {
      let query = db.selectFrom(table).selectAll().orderBy('created_at').orderBy('id')
      for (const [column, value] of Object.entries(where)) query = query.where(column, '=', value)
      return (await query.execute()).map((row) => tokenOf(read(row), row))
    },
    async count() {
      const query = db.selectFrom(table).select(({ fn }) => fn.countAll().as('count'))
      return Number((await query.executeTakeFirstOrThrow()).count)
    },
    remove(where) {
      let query = db.deleteFrom(table)
      for (const [column, value] of Object.entries(where)) query = query.where(column, '=', value)
      return deletedAny(query)
    },
    async find(token) {
      const hash = form.hashOf(token)
      return hash === null ? null : findBy('token_hash', hash)
    },
    withId: (id) => findBy('id', id),
    async removeExpired(time) {
      await db.deleteFrom(table).where('expires_at', '<', time).execute()
    },
  }
}
