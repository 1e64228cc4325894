import { randomBytes } from 'node:crypto'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { AdminAccount } from './account.ts'
import type { Actor } from './actor.ts'
import type { ApiTokens } from './api-tokens.ts'

/** A session on the admin pages, of the admin account or of an API token. */
export type PageSession = Pick<Actor, 'name' | 'scopes'> & {
  /** The page sends this with each API request, to prove that the request comes from an admin page. */
  readonly csrfToken: string
  /**
   * Whether the operator signed in or confirmed their identity within the last `CONFIRMED_FOR`. Always true for API
   * tokens, because they can't confirm.
   */
  readonly isConfirmed: boolean
}

/** Sessions of the admin pages, shared by all hosts of a platform. */
export interface PageSessions {
  /**
   * @param token the id of the API token that signed in; null for the admin account
   * @returns the cookie's value, which has 256 random bits; only its hash is stored
   */
  start(address: string, token?: string | null): Promise<string>
  /**
   * Finds a session and extends its idle timeout, unless `isUse` is false. Automatic requests by a page set it to
   * false, so that they don't keep the session alive.
   * @returns null if the session is unknown or expired, the password has changed since, or its API token is deleted or
   *   expired
   */
  find(cookie: string, options?: { readonly isUse?: boolean }): Promise<PageSession | null>
  end(cookie: string): Promise<void>
  /** Records that the operator has just confirmed their identity. */
  confirm(cookie: string): Promise<void>
  /** Ends all sessions, except one. @param except a cookie's value, or null */
  endOthers(except: string | null): Promise<void>
  isCsrfToken(cookie: string, token: string): boolean
  /** Removes expired sessions. */
  sweep(): Promise<void>
}

const CSRF = 'admin-csrf'
/** Minimum interval in ms between updates of a session's last use. */
const NOTE_EVERY = 30_000

/**
 * The value of the column `account` in a session that an API token started. No account's fingerprint looks like this.
 */
const tokenAccount = (id: string) => `token:${id}`

/** @param now returns the current time in epoch milliseconds */
export function createPageSessions(
  db: HostDatabase,
  key: PlatformKey,
  { account, tokens }: { readonly account: AdminAccount; readonly tokens: Pick<ApiTokens, 'withId'> },
  limits: Limits,
  now: () => number = Date.now,
): PageSessions {
  const lastAllowed = () => ({ seen: now() - limits.SESSION_IDLE, created: now() - limits.SESSION_LIFETIME })

  /** @returns null if the account has changed, or the token is deleted or expired */
  async function actorFor(stored: string): Promise<Pick<Actor, 'name' | 'scopes'> | null> {
    if (stored === account.fingerprint) return { name: 'admin', scopes: null }
    const id = /^token:(.+)$/.exec(stored)?.[1]
    const token = id === undefined ? null : await tokens.withId(id)
    return token === null ? null : { name: `token:${token.id}`, scopes: token.scopes }
  }

  return {
    async start(address, token = null) {
      const cookie = randomBytes(32).toString('base64url')
      await db
        .insertInto('admin_sessions')
        .values({
          id_hash: storedHash(cookie),
          account: token === null ? account.fingerprint : tokenAccount(token),
          address,
          created_at: now(),
          last_seen_at: now(),
          confirmed_at: now(),
        })
        .execute()
      return cookie
    },
    async find(cookie, { isUse = true } = {}) {
      const id = storedHash(cookie)
      const row = await db
        .selectFrom('admin_sessions')
        .select(['account', 'created_at', 'last_seen_at', 'confirmed_at'])
        .where('id_hash', '=', id)
        .executeTakeFirst()
      const { seen, created } = lastAllowed()
      if (row === undefined || row.last_seen_at <= seen || row.created_at <= created) return null
      const actor = await actorFor(row.account)
      if (actor === null) return null
      if (isUse && row.last_seen_at < now() - NOTE_EVERY) {
        await db.updateTable('admin_sessions').set({ last_seen_at: now() }).where('id_hash', '=', id).execute()
      }
      const { confirmed_at } = row
      const isRecent = confirmed_at !== null && confirmed_at + limits.CONFIRMED_FOR > now()
      const isConfirmed = actor.scopes !== null || isRecent
      return { ...actor, csrfToken: key.sign(CSRF, cookie), isConfirmed }
    },
    async end(cookie) {
      await db.deleteFrom('admin_sessions').where('id_hash', '=', storedHash(cookie)).execute()
    },
    async confirm(cookie) {
      const update = db.updateTable('admin_sessions').set({ confirmed_at: now() })
      await update.where('id_hash', '=', storedHash(cookie)).execute()
    },
    async endOthers(except) {
      const others = db.deleteFrom('admin_sessions')
      await (except === null ? others : others.where('id_hash', '!=', storedHash(except))).execute()
    },
    isCsrfToken: (cookie, token) => key.verify(CSRF, cookie, token),
    async sweep() {
      const { seen, created } = lastAllowed()
      await db
        .deleteFrom('admin_sessions')
        .where((row) => row.or([row('last_seen_at', '<=', seen), row('created_at', '<=', created)]))
        .execute()
    },
  }
}
