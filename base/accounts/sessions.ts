import type { Selectable } from 'kysely'
import type { Login, Tenant } from '../../plugins/security/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import { answeredWithin, SHORT_ANSWER } from '../database/answered-within.ts'
import { createGroupedInsert } from '../database/grouped-insert.ts'
import type { Database } from '../database/open.ts'
import { firstRows } from '../database/portable.ts'
import { storedHash } from '../database/stored-hash.ts'
import type { Tables } from '../database/tables.ts'
import { timeOrderedId } from '../database/time-ordered-id.ts'
import { randomText } from '../program/random-text.ts'
import { type AccountSourceName, FACTORS_OF } from './account-source-name.ts'
import { readMethods, type SignInMethod } from './sign-in-methods.ts'

/** A signed-in browser. A session belongs to one realm, and can't be found in another. */
export type Session = Login & {
  /** Identifies the session when it is listed or ended. Not derived from the cookie. */
  readonly publicId: string
  /** Where the user is signed in: a solution's name, or the control center. The column is named `solution`. */
  readonly realm: string
  readonly tenant: Tenant | null
  readonly locale: string
  readonly source: AccountSourceName
  /** The selector of the remembered login that created the session or was created with it, or null. */
  readonly selector: string | null
  /** The sign-in at the OAuth provider that the session is based on, or null. */
  readonly providerLogin: string | null
  /**
   * The source of the account whose second factors apply. Equal to `source`, unless a script signed in a user from the
   * users table.
   */
  readonly factorsOf: AccountSourceName
  /** How the user signed in; empty if an older version stored the session. */
  readonly methods: readonly SignInMethod[]
  /** Epoch milliseconds. */
  readonly loggedInAt: number
  /** When the user last signed in with credentials or confirmed their identity, in epoch ms; null if unknown. */
  readonly confirmedAt: number | null
}

/** `agent`: the browser's User-Agent header. */
export type NewSession = Omit<Session, 'publicId' | 'loggedInAt' | 'confirmedAt'> & {
  readonly address: string
  readonly agent: string | null
  /** Whether the user has just entered credentials. */
  readonly isConfirmed: boolean
}

/** The fields of a session that scripts may change. */
export type SessionValues = { readonly tenant?: Tenant | null; readonly locale?: string }

/** A cookie, and the realm in which its session was found. */
export type SessionCookie = { readonly realm: string; readonly cookie: string }

/** A session as the host's API lists it. Times are in epoch ms. */
export type ListedSession = {
  readonly id: string
  /** The realm. On a host, this is the solution's name. */
  readonly solution: string
  readonly uid: string
  readonly username: string
  readonly createdAt: number
  readonly lastSeenAt: number
  readonly address: string
  /** The browser's User-Agent header; null if unknown. */
  readonly agent: string | null
}

export type SessionQuery = {
  readonly limit: number
  /** `next` of the previous page. */
  readonly after?: string | undefined
  readonly solution?: string | undefined
  readonly uid?: string | undefined
  readonly username?: string | undefined
}

type OwnSession = Pick<Session, 'publicId' | 'uid' | 'realm'>

export interface Sessions {
  /** @returns the session and the cookie's value: 256 random bits; only their hash is stored */
  start(
    session: NewSession,
  ): Promise<{ readonly cookie: string; readonly publicId: string; readonly loggedInAt: number }>
  /**
   * Returns the cookie's session, and records that it was used. Returns null if the session belongs to another realm,
   * or has ended, gone idle or expired. Changes by another host are visible within a second.
   */
  find(realm: string, cookie: string): Promise<Session | null>
  /**
   * Returns those cookies whose sessions are still active: not ended, idle or expired. Used for the cookies of open
   * clients, and doesn't extend their sessions. Evicts ended sessions from this host's cache.
   */
  living(asked: readonly SessionCookie[]): Promise<ReadonlySet<string>>
  /**
   * Stores the values that a script set for a session. Other hosts see them within a second. Has no effect on ended
   * sessions.
   */
  change(realm: string, cookie: string, values: SessionValues): Promise<void>
  /**
   * Records that the user has just confirmed their identity.
   * @param methods the session's new sign-in methods, which replace the old ones
   */
  confirm(realm: string, cookie: string, methods: readonly SignInMethod[]): Promise<void>
  end(realm: string, cookie: string): Promise<void>
  endAll(realm: string): Promise<void>
  /**
   * Ends the account's sessions, except one.
   * @param realm null for all realms
   * @param except the public id of a session, or null
   */
  endOfAccount(
    account: { readonly factorsOf: AccountSourceName; readonly uid: string },
    realm: string | null,
    except: string | null,
  ): Promise<void>
  /**
   * Ends all sessions of a user. For the users table, these include the sessions that a solution's script started after
   * it had checked the password there.
   */
  endOfUser(source: AccountSourceName, uid: string): Promise<void>
  /** Ends the session whose sign-in created the remembered login, and all sessions that this login created later. */
  endOfSeries(selector: string): Promise<void>
  endOfProviderLogin(id: string): Promise<void>
  /** @returns the ended session; null if it doesn't exist or had already ended */
  endByPublicId(id: string): Promise<Pick<Session, 'selector' | 'realm' | 'username'> | null>
  /** Lists active sessions, ordered by public id. */
  list(query: SessionQuery): Promise<{ readonly items: readonly ListedSession[]; readonly next?: string }>
  /** Lists a user's active sessions in the realm of one of them: this session first, then the newest ones. */
  listOwn(own: OwnSession, limit: number): Promise<readonly ListedSession[]>
  /** Deletes sessions that ended, went idle or expired more than `SESSION_ENDED_KEPT` ago. */
  sweep(): Promise<void>
}

/**
 * Minimum time between two writes of a session's last use, as a fraction of the idle timeout. Without this limit, each
 * request would cause a write. As a result, a session may expire early, by up to this time.
 */
const NOTE_USE_PART = 1 / 60
/** Cache time in ms. A session that another host ended can still be used here for at most this time. */
const BELIEVED = 1000
/** Sessions per query. */
const ASKED_AT_ONCE = 200
/** Maximum number of cache entries. The sessions that were read from the database longest ago are evicted first. */
const KEPT = 10_000

type SessionRow = Selectable<Tables['sessions']>
type SearchedColumn =
  | 'solution'
  | 'source'
  | 'uid'
  | 'selector'
  | 'provider_login'
  | 'public_id'
  | 'id_hash'
  | 'factors_of'
type Times = { readonly created_at: number; readonly last_seen_at: number; readonly ended_at: number | null }
type Kept = { readonly session: Session; readonly times: Times; readonly readAt: number }

/** @param now returns the current time in epoch milliseconds */
export function createSessions(db: Database, limits: Limits, now: () => number = Date.now): Sessions {
  /** The cache, keyed by the hash of the cookie's value, in the order in which the sessions were read. */
  const kept = new Map<string, Kept>()
  const insert = createGroupedInsert(db, 'sessions', SESSION_COLUMNS)

  const isOver = ({ created_at, last_seen_at, ended_at }: Times) =>
    ended_at !== null || last_seen_at + limits.SESSION_IDLE <= now() || created_at + limits.SESSION_LIFETIME <= now()

  /**
   * If the clock was set back, some entries seem to be from the future. They would be cached for too long, so they are
   * ignored.
   */
  const isRecent = ({ readAt }: Kept) => readAt <= now() && readAt + BELIEVED > now()

  function keep(idHash: string, one: Kept): void {
    kept.delete(idHash)
    kept.set(idHash, one)
    if (kept.size > KEPT) kept.delete(kept.keys().next().value as string)
  }

  async function read(idHash: string): Promise<Kept | null> {
    // The clock is read before the query, so that changes are seen within `BELIEVED` even if the query is slow.
    const readAt = now()
    const row = await db.selectFrom('sessions').selectAll().where('id_hash', '=', idHash).executeTakeFirst()
    if (row === undefined) return null
    return { session: sessionOf(row), times: row, readAt }
  }

  async function noteUse(idHash: string, one: Kept): Promise<void> {
    if (one.times.last_seen_at + limits.SESSION_IDLE * NOTE_USE_PART > now()) return
    const last_seen_at = now()
    await db.updateTable('sessions').set({ last_seen_at }).where('id_hash', '=', idHash).execute()
    // The session may have been changed or ended during the update.
    const current = kept.get(idHash)
    if (current !== undefined) keep(idHash, { ...current, times: { ...current.times, last_seen_at } })
  }

  /**
   * @param except the public id of a session
   * @returns the number of sessions that were ended
   */
  async function endWhere(which: Partial<Record<SearchedColumn, string>>, except: string | null = null) {
    let query = db.updateTable('sessions').set({ ended_at: now() }).where('ended_at', 'is', null)
    if (except !== null) query = query.where('public_id', '!=', except)
    for (const [column, value] of Object.entries(which)) {
      query = query.where(column === 'factors_of' ? FACTORS_OF : (column as 'solution'), '=', value)
    }
    const { numUpdatedRows } = await query.executeTakeFirst()
    if (which.id_hash === undefined) kept.clear()
    else kept.delete(which.id_hash)
    return numUpdatedRows
  }

  return {
    async start(session) {
      const cookie = randomText(32)
      const loggedInAt = now()
      const publicId = timeOrderedId(loggedInAt)
      await insert(newRow(session, cookie, publicId, loggedInAt))
      return { cookie, publicId, loggedInAt }
    },
    async find(realm, cookie) {
      const idHash = storedHash(cookie)
      const known = kept.get(idHash)
      const found = known !== undefined && isRecent(known) ? known : await answeredWithin(SHORT_ANSWER, read(idHash))
      if (found === null || found.session.realm !== realm || isOver(found.times)) {
        kept.delete(idHash)
        return null
      }
      if (found !== known) keep(idHash, found)
      await noteUse(idHash, found)
      return found.session
    },
    async living(asked) {
      const living = new Set<string>()
      for (let start = 0; start < asked.length; start += ASKED_AT_ONCE) {
        const batch = asked
          .slice(start, start + ASKED_AT_ONCE)
          .map((one) => ({ ...one, idHash: storedHash(one.cookie) }))
        const found = await readLiving(db, new Map(batch.map(({ idHash, realm }) => [idHash, realm])), isOver)
        for (const { cookie, idHash } of batch) {
          if (found.has(idHash)) living.add(cookie)
          else kept.delete(idHash)
        }
      }
      return living
    },
    async change(realm, cookie, values) {
      const columns = columnsOf(values)
      if (Object.keys(columns).length === 0) return
      const idHash = storedHash(cookie)
      const { numUpdatedRows } = await db
        .updateTable('sessions')
        .set(columns)
        .where('id_hash', '=', idHash)
        .where('solution', '=', realm)
        .where('ended_at', 'is', null)
        .executeTakeFirst()
      const one = kept.get(idHash)
      if (numUpdatedRows > 0n && one !== undefined) keep(idHash, { ...one, session: { ...one.session, ...values } })
    },
    async confirm(realm, cookie, methods) {
      const idHash = storedHash(cookie)
      const update = db.updateTable('sessions').set({ confirmed_at: now(), methods: JSON.stringify(methods) })
      await update.where('id_hash', '=', idHash).where('solution', '=', realm).where('ended_at', 'is', null).execute()
      kept.delete(idHash)
    },
    async endOfAccount({ factorsOf, uid }, realm, except) {
      await endWhere({ factors_of: factorsOf, uid, ...(realm === null ? {} : { solution: realm }) }, except)
    },
    async end(realm, cookie) {
      await endWhere({ solution: realm, id_hash: storedHash(cookie) })
    },
    async endAll(realm) {
      await endWhere({ solution: realm })
    },
    async endOfUser(source, uid) {
      await endWhere({ factors_of: source, uid })
    },
    async endOfSeries(selector) {
      await endWhere({ selector })
    },
    async endOfProviderLogin(id) {
      await endWhere({ provider_login: id })
    },
    async endByPublicId(id) {
      const row = await db
        .selectFrom('sessions')
        .select(['selector', 'solution as realm', 'username'])
        .where('public_id', '=', id)
        .executeTakeFirst()
      return row !== undefined && (await endWhere({ public_id: id })) > 0n ? row : null
    },
    list: (query) => listSessions(db, limits, now(), query),
    listOwn: (own, limit) => listOwnSessions(db, limits, now(), own, limit),
    async sweep() {
      const before = now() - limits.SESSION_ENDED_KEPT
      await db
        .deleteFrom('sessions')
        .where((row) =>
          row.or([
            row('ended_at', '<', before),
            row('last_seen_at', '<', before - limits.SESSION_IDLE),
            row('created_at', '<', before - limits.SESSION_LIFETIME),
          ]),
        )
        .execute()
    },
  }
}

/**
 * @param realms keyed by the hash of the cookie's value
 * @returns the hashes that belong to active sessions
 */
async function readLiving(
  db: Database,
  realms: ReadonlyMap<string, string>,
  isOver: (times: Times) => boolean,
): Promise<Set<string>> {
  const query = db
    .selectFrom('sessions')
    .select(['id_hash', 'solution', 'created_at', 'last_seen_at', 'ended_at'])
    .where('id_hash', 'in', [...realms.keys()])
    .where('ended_at', 'is', null)
  const rows = await answeredWithin(SHORT_ANSWER, query.execute())
  const living = rows.filter((row) => row.solution === realms.get(row.id_hash) && !isOver(row))
  return new Set(living.map(({ id_hash }) => id_hash))
}

const SESSION_COLUMNS = [
  'id_hash',
  'public_id',
  'solution',
  'username',
  'uid',
  'permissions',
  'tenant',
  'locale',
  'address',
  'source',
  'selector',
  'provider_login',
  'methods',
  'agent',
  'factors_of',
  'confirmed_at',
  'created_at',
  'last_seen_at',
  'ended_at',
] as const satisfies readonly (keyof SessionRow)[]

/** Only a hash of the cookie's value is stored. */
function newRow(session: NewSession, cookie: string, publicId: string, loggedInAt: number): SessionRow {
  return {
    id_hash: storedHash(cookie),
    public_id: publicId,
    solution: session.realm,
    username: session.username,
    uid: session.uid,
    permissions: JSON.stringify(session.permissions),
    tenant: session.tenant === null ? null : JSON.stringify(session.tenant),
    locale: session.locale,
    address: session.address,
    source: session.source,
    selector: session.selector,
    provider_login: session.providerLogin,
    methods: JSON.stringify(session.methods),
    agent: session.agent,
    factors_of: session.factorsOf,
    confirmed_at: session.isConfirmed ? loggedInAt : null,
    created_at: loggedInAt,
    last_seen_at: loggedInAt,
    ended_at: null,
  }
}

function columnsOf({ tenant, locale }: SessionValues) {
  return {
    ...(tenant === undefined ? {} : { tenant: tenant === null ? null : JSON.stringify(tenant) }),
    ...(locale === undefined ? {} : { locale }),
  }
}

function sessionOf(row: SessionRow): Session {
  return {
    publicId: row.public_id,
    realm: row.solution,
    username: row.username,
    uid: row.uid,
    permissions: JSON.parse(row.permissions) as string[],
    tenant: row.tenant === null ? null : (JSON.parse(row.tenant) as Tenant),
    locale: row.locale,
    source: row.source as AccountSourceName,
    selector: row.selector,
    providerLogin: row.provider_login,
    factorsOf: (row.factors_of ?? row.source) as AccountSourceName,
    methods: readMethods(row.methods),
    loggedInAt: row.created_at,
    confirmedAt: row.confirmed_at,
  }
}

const LISTED_COLUMNS = [
  'public_id',
  'solution',
  'uid',
  'username',
  'created_at',
  'last_seen_at',
  'address',
  'agent',
] as const satisfies readonly (keyof SessionRow)[]

function activeSessions(db: Database, limits: Limits, now: number) {
  return db
    .selectFrom('sessions')
    .select(LISTED_COLUMNS)
    .where('ended_at', 'is', null)
    .where('last_seen_at', '>', now - limits.SESSION_IDLE)
    .where('created_at', '>', now - limits.SESSION_LIFETIME)
}

async function listSessions(
  db: Database,
  limits: Limits,
  now: number,
  { limit, after, solution, uid, username }: SessionQuery,
): ReturnType<Sessions['list']> {
  let query = activeSessions(db, limits, now).orderBy('public_id')
  if (after !== undefined) query = query.where('public_id', '>', after)
  if (solution !== undefined) query = query.where('solution', '=', solution)
  if (uid !== undefined) query = query.where('uid', '=', uid)
  if (username !== undefined) query = query.where('username', '=', username)
  const rows = await firstRows(db, query, limit + 1).execute()
  const items = rows.slice(0, limit).map(listedSessionOf)
  const last = rows.length > limit ? items.at(-1) : undefined
  return last === undefined ? { items } : { items, next: last.id }
}

async function listOwnSessions(
  db: Database,
  limits: Limits,
  now: number,
  { publicId, uid, realm }: OwnSession,
  limit: number,
): Promise<readonly ListedSession[]> {
  const query = activeSessions(db, limits, now)
    .where('uid', '=', uid)
    .where('solution', '=', realm)
    .orderBy((row) => row.case().when('public_id', '=', publicId).then(row.lit(0)).else(row.lit(1)).end())
    // Public ids are ordered by time.
    .orderBy('public_id', 'desc')
  return (await firstRows(db, query, limit).execute()).map(listedSessionOf)
}

function listedSessionOf(row: Pick<SessionRow, (typeof LISTED_COLUMNS)[number]>): ListedSession {
  return {
    id: row.public_id,
    solution: row.solution,
    uid: row.uid,
    username: row.username,
    createdAt: row.created_at,
    lastSeenAt: row.last_seen_at,
    address: row.address,
    agent: row.agent,
  }
}
