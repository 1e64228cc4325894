import { randomUUID } from 'node:crypto'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Database } from '../../base/database/open.ts'
import { firstRows, put } from '../../base/database/portable.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { OAuthConfiguration } from './configuration.ts'
import type { Claims, Provider } from './provider.ts'

/** A sign-in by a provider that succeeded: what refresh and logout need. Sessions and remembered logins rest on it. */
export type ProviderLogin = {
  readonly id: string
  readonly solution: string
  /** When the provider was last asked about the user, in epoch ms. */
  readonly refreshedAt: number
  readonly content: ProviderLoginContent
}

export type ProviderLoginContent = {
  readonly configuration: OAuthConfiguration
  readonly provider: Provider
  /** Path and query of the page that was asked for. */
  readonly page: string
  readonly claims: Claims
  /** Of the first ID token; later ones may repeat it and nothing else. */
  readonly nonce: string
  /** The provider wants it back when it ends its own session (`id_token_hint`). */
  readonly idToken: string | null
  readonly refreshToken: string | null
}

/** Whom a provider signs out: one session of its own, or all of a user. */
export type SignedOut = { readonly client: ClientName; readonly subject: string | null; readonly sid: string | null }

/** Which registration at which provider. */
export type ClientName = { readonly issuer: string; readonly clientId: string }

/** Kept on the server, encrypted with the platform's key, and shared by all hosts. */
export interface ProviderLogins {
  /**
   * @param issuedAt the ID token's `iat`, in epoch ms
   * @param startedAt when the browser was sent to the provider, in epoch ms; null: long after any sign-out
   * @returns null when the provider has signed this very login out meanwhile
   */
  start(
    solution: string,
    content: ProviderLoginContent,
    issuedAt: number,
    startedAt?: number | null,
  ): Promise<string | null>
  /** @returns null when there is none, or it ended */
  find(id: string): Promise<ProviderLogin | null>
  /** One that rests on this registration, the newest, for its configuration. */
  findOfClient(solution: string, client: ClientName): Promise<ProviderLogin | null>
  isAlive(id: string): Promise<boolean>
  /**
   * Lets one caller, of all hosts, ask the provider: refresh tokens are worth something once.
   * @returns false when another one is at it
   */
  claimRefresh(id: string): Promise<boolean>
  /** Keeps what the refresh brought and gives the claim back; null only gives it back. */
  finishRefresh(login: ProviderLogin, content: ProviderLoginContent | null): Promise<void>
  /** Nothing that could sign in anybody is kept after it. */
  end(id: string): Promise<void>
  /**
   * Ends what a provider signed out, also what is just being started.
   * @param issuedAt the logout token's `iat`, in epoch ms
   * @returns the ids of what ended
   */
  endSignedOut(solution: string, signedOut: SignedOut, issuedAt: number): Promise<readonly string[]>
  sweep(): Promise<void>
}

/** Requests of one refresh: tokens, keys (twice where one is unknown), user info. One more for what the host itself needs. */
const REFRESH_REQUESTS = 5
/** A provider's logout is remembered for sign-ins that are on their way, in ms. */
const SIGNED_OUT_KEPT = 3_600_000

/** @param now the clock, in epoch milliseconds */
export function createProviderLogins(
  db: Database,
  key: PlatformKey,
  limits: Limits,
  now: () => number = Date.now,
): ProviderLogins {
  const purposeOf = (solution: string, id: string) => `provider-login ${solution} ${id}`
  /** A refresh that was cut off holds others up for so long, in ms. */
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
      // After the row is there: a logout that comes between finds either the row, or is found here.
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
      // A token may name both: then both must fit.
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
      // What is older than a session can be is needed only where a remembered login rests on it.
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

/** Entries of `used_tokens` that say when somebody was signed out; the time is `expires_at` less what it is kept for. */
async function wasSignedOut(
  db: Database,
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
    // Tokens have whole seconds. Within the same second, only a sign-in that had started before the sign-out arrived is refused.
    return startedAt !== null && startedAt <= signedOutAt
  })
}

function secondOf(time: number): number {
  return Math.floor(time / 1000)
}

/** The provider's own session, where its tokens name it. */
function sidOf({ sid }: Claims): string | null {
  return typeof sid === 'string' && sid !== '' ? sid : null
}

/** Issuers and subjects are longer than a key may be, and nobody needs to read them in the table. */
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
