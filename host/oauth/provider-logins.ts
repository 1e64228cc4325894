import { randomUUID } from 'node:crypto'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import { firstRows, put } from '../../base/database/portable.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { OAuthConfiguration } from './configuration.ts'
import type { Claims, Provider } from './provider.ts'

/**
 * A successful sign-in at a provider, with the data needed for refresh and logout. Sessions and remembered logins refer
 * to it.
 */
export type ProviderLogin = {
  readonly id: string
  readonly solution: string
  /** Time of the last sign-in or refresh at the provider, in epoch ms. */
  readonly refreshedAt: number
  readonly content: ProviderLoginContent
}

export type ProviderLoginContent = {
  readonly configuration: OAuthConfiguration
  readonly provider: Provider
  /** Path and query of the requested page. */
  readonly page: string
  readonly claims: Claims
  /** The nonce of the first ID token. Later ID tokens have the same nonce or none. */
  readonly nonce: string
  /** Sent to the provider's logout endpoint as `id_token_hint`. */
  readonly idToken: string | null
  readonly refreshToken: string | null
}

/** A logout reported by a provider, for one of its sessions or for all of a user's sessions. */
export type SignedOut = { readonly client: ClientName; readonly subject: string | null; readonly sid: string | null }

/** Identifies a solution's registration at a provider. */
export type ClientName = { readonly issuer: string; readonly clientId: string }

/** Provider logins are stored in the database, encrypted with the platform's key, and shared by all hosts. */
export interface ProviderLogins {
  /**
   * @param issuedAt the ID token's `iat`, in epoch ms
   * @param startedAt when the browser was sent to the provider, in epoch ms; null is treated as later than any sign-out
   * @returns null if the provider has signed out this login in the meantime
   */
  start(
    solution: string,
    content: ProviderLoginContent,
    issuedAt: number,
    startedAt?: number | null,
  ): Promise<string | null>
  /** @returns null if there is no such login, or it has ended */
  find(id: string): Promise<ProviderLogin | null>
  /** Finds the newest login with this registration, to read the registration's configuration from it. */
  findOfClient(solution: string, client: ClientName): Promise<ProviderLogin | null>
  isAlive(id: string): Promise<boolean>
  /**
   * Claims a login for a refresh. The refresh token may be valid only once, so only one caller across all hosts may
   * send it to the provider.
   * @returns false if another caller has the claim
   */
  claimRefresh(id: string): Promise<boolean>
  /** Stores the refresh's result and releases the claim. With null, it only releases the claim. */
  finishRefresh(login: ProviderLogin, content: ProviderLoginContent | null): Promise<void>
  /** Ends a login and deletes its tokens. */
  end(id: string): Promise<void>
  /**
   * Ends the logins that a provider signed out, including sign-ins in progress.
   * @param issuedAt the logout token's `iat`, in epoch ms
   * @returns the ids of the ended logins
   */
  endSignedOut(solution: string, signedOut: SignedOut, issuedAt: number): Promise<readonly string[]>
  sweep(): Promise<void>
}

/**
 * Maximum number of requests per refresh: one for tokens, up to two for keys, one for user info, and one as a margin
 * for the host's own work.
 */
const REFRESH_REQUESTS = 5
/** How long a provider's logout is remembered, in ms, to reject sign-ins that were in progress. */
const SIGNED_OUT_KEPT = 3_600_000

/** @param now returns the current time in epoch milliseconds */
export function createProviderLogins(
  db: HostDatabase,
  key: PlatformKey,
  limits: Limits,
  now: () => number = Date.now,
): ProviderLogins {
  const purposeOf = (solution: string, id: string) => `provider-login ${solution} ${id}`
  /** After this time, in ms, the claim of an interrupted refresh expires. */
  const longestRefresh = REFRESH_REQUESTS * limits.OAUTH_TIME

  function read(row: { id: string; solution: string; content: string; refreshed_at: number }): ProviderLogin | null {
    const content = key.decrypt(purposeOf(row.solution, row.id), row.content)
    if (content === null) return null
    const { id, solution, refreshed_at: refreshedAt } = row
    return { id, solution, refreshedAt, content: JSON.parse(content) as ProviderLoginContent }
  }

  const encrypted = (solution: string, id: string, content: ProviderLoginContent) =>
    key.encrypt(purposeOf(solution, id), JSON.stringify(content))

  return {
    async start(solution, content, issuedAt, startedAt = null) {
      const id = randomUUID()
      const { claims, configuration } = content
      const sid = sidOf(claims)
      await db
        .insertInto('provider_logins')
        .values({
          id,
          solution,
          client_hash: clientHash({ issuer: claims.iss, clientId: configuration.clientId }),
          subject_hash: subjectHash(claims.iss, claims.sub),
          sid_hash: sid === null ? null : sidHash(claims.iss, sid),
          content: encrypted(solution, id, content),
          refreshed_at: now(),
          refreshing_since: null,
          created_at: now(),
          ended_at: null,
        })
        .execute()
      // Check after inserting the row: a concurrent logout either finds the row, or is found here.
      if (!(await wasSignedOut(db, solution, claims, issuedAt, startedAt))) return id
      await this.end(id)
      return null
    },
    async find(id) {
      const row = await db.selectFrom('provider_logins').selectAll().where('id', '=', id).executeTakeFirst()
      return row === undefined || row.ended_at !== null ? null : read(row)
    },
    async findOfClient(solution, client) {
      const query = db
        .selectFrom('provider_logins')
        .selectAll()
        .where('solution', '=', solution)
        .where('client_hash', '=', clientHash(client))
        .where('ended_at', 'is', null)
        .orderBy('created_at', 'desc')
      const [row] = await firstRows(db, query, 1).execute()
      return row === undefined ? null : read(row)
    },
    async isAlive(id) {
      const row = await db.selectFrom('provider_logins').select('ended_at').where('id', '=', id).executeTakeFirst()
      return row?.ended_at === null
    },
    async claimRefresh(id) {
      const { numUpdatedRows } = await db
        .updateTable('provider_logins')
        .set({ refreshing_since: now() })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .where((row) =>
          row.or([row('refreshing_since', 'is', null), row('refreshing_since', '<', now() - longestRefresh)]),
        )
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },
    async finishRefresh({ id, solution }, content) {
      const kept = content === null ? {} : { content: encrypted(solution, id, content), refreshed_at: now() }
      await db
        .updateTable('provider_logins')
        .set({ refreshing_since: null, ...kept })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .execute()
    },
    async end(id) {
      await db
        .updateTable('provider_logins')
        .set({ ended_at: now(), content: '' })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .execute()
    },
    async endSignedOut(solution, { client, subject, sid }, issuedAt) {
      const hash = sid === null ? subjectHash(client.issuer, subject ?? '') : sidHash(client.issuer, sid)
      const arrivedAt = Math.min(Math.max(now(), issuedAt), secondOf(issuedAt) * 1000 + 999)
      await put(db, 'used_tokens', ['id'], { id: markOf(solution, hash), expires_at: arrivedAt + SIGNED_OUT_KEPT })
      let query = db
        .selectFrom('provider_logins')
        .select('id')
        .where('solution', '=', solution)
        .where('client_hash', '=', clientHash(client))
        .where(sid === null ? 'subject_hash' : 'sid_hash', '=', hash)
        .where('ended_at', 'is', null)
      // If a token has both `sub` and `sid`, both must match.
      if (sid !== null && subject !== null) {
        query = query.where('subject_hash', '=', subjectHash(client.issuer, subject))
      }
      const ids = (await query.execute()).map(({ id }) => id)
      for (const id of ids) await this.end(id)
      return ids
    },
    async sweep() {
      const before = now() - limits.SESSION_ENDED_KEPT
      await db
        .deleteFrom('provider_logins')
        .where((row) =>
          row.or([
            row('ended_at', '<', before),
            row('created_at', '<', before - limits.REMEMBER_LIFETIME - limits.SESSION_LIFETIME),
          ]),
        )
        .execute()
      // Logins older than the longest session are kept only if a remembered login refers to them.
      const remembered = db
        .selectFrom('remembered')
        .select('provider_login')
        .where('provider_login', 'is not', null)
        .where('ended_at', 'is', null)
      await db
        .deleteFrom('provider_logins')
        .where('created_at', '<', before - limits.SESSION_LIFETIME)
        .where('id', 'not in', remembered)
        .execute()
    },
  }
}

/**
 * Whether the provider has signed out this login. Logouts are stored in `used_tokens`. A logout's time is `expires_at`
 * minus `SIGNED_OUT_KEPT`.
 */
async function wasSignedOut(
  db: HostDatabase,
  solution: string,
  claims: Claims,
  issuedAt: number,
  startedAt: number | null,
): Promise<boolean> {
  const ids = [markOf(solution, subjectHash(claims.iss, claims.sub))]
  const sid = sidOf(claims)
  if (sid !== null) ids.push(markOf(solution, sidHash(claims.iss, sid)))
  const marks = await db.selectFrom('used_tokens').select('expires_at').where('id', 'in', ids).execute()
  return marks.some(({ expires_at }) => {
    const signedOutAt = expires_at - SIGNED_OUT_KEPT
    const [signedOut, issued] = [secondOf(signedOutAt), secondOf(issuedAt)]
    if (signedOut !== issued) return signedOut > issued
    // Token times are in whole seconds. Within the same second, a sign-in is rejected only if it started before the
    // sign-out arrived.
    return startedAt !== null && startedAt <= signedOutAt
  })
}

function secondOf(time: number): number {
  return Math.floor(time / 1000)
}

/** The id of the provider's session, if its tokens contain one. */
function sidOf({ sid }: Claims): string | null {
  return typeof sid === 'string' && sid !== '' ? sid : null
}

/**
 * These ids are hashed: issuers and subjects can be longer than a database key, and they don't need to be readable in
 * the database.
 */
function clientHash({ issuer, clientId }: ClientName): string {
  return storedHash(JSON.stringify(['client', issuer, clientId]))
}

function subjectHash(issuer: string, subject: string): string {
  return storedHash(JSON.stringify(['subject', issuer, subject]))
}

function sidHash(issuer: string, sid: string): string {
  return storedHash(JSON.stringify(['sid', issuer, sid]))
}

function markOf(solution: string, hash: string): string {
  return `signed-out ${solution} ${hash}`
}
