import type { PlatformKey } from '../../base/config/platform-key.ts'
import { put } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { createBriefCache } from '../database/brief-cache.ts'
import type { HostDatabase } from '../database/tables.ts'

/** A granted database on one of the operator's servers. */
export type DatabaseGrant = {
  readonly server: 'alpha' | 'beta' | 'gamma'
  /** The database name on that server. */
  readonly database: string
  /** If absent, the account in `DB_{server}_USERNAME` and `_PASSWORD` is used. */
  readonly username?: string
  /** The password of `username`. If absent, that account has no password. */
  readonly password?: string
}

/** The resources that the operator has granted to a solution. Its scripts can't access anything else. */
export type Grants = {
  /** Keyed by the name that scripts use. The object has no prototype, so that any name can be looked up safely. */
  readonly databases: Readonly<Record<string, DatabaseGrant>>
  /** Hosts that scripts may send requests to, such as `api.example.org` or `10.0.0.7:8443`. See `readGrantedHost`. */
  readonly http: readonly string[]
  /** Whether the solution's scripts may use the users table. */
  readonly users: boolean
}

type ShownDatabase = Omit<DatabaseGrant, 'password'> & { readonly hasPassword: boolean }

/** Grants without passwords, for lists and responses. */
export type ShownGrants = Omit<Grants, 'databases'> & { readonly databases: Readonly<Record<string, ShownDatabase>> }

export interface GrantStore {
  /**
   * Cached for at most 1 s; a change on this host applies immediately.
   * @throws ERR_PLATFORM_KEY if a password cannot be decrypted
   */
  get(solution: string): Promise<Grants>
  show(solution: string): Promise<ShownGrants>
  /**
   * Stores grants. A database without a password keeps its stored password if the server and username are unchanged.
   */
  put(solution: string, wanted: Grants): Promise<ShownGrants>
}

/** Grants as stored, with encrypted passwords. */
type StoredDatabase = Omit<DatabaseGrant, 'password'> & { readonly sealedPassword?: string }
type StoredGrants = Omit<Grants, 'databases'> & { readonly databases: Readonly<Record<string, StoredDatabase>> }

/** @param now the clock, in milliseconds */
export function createGrants(db: HostDatabase, key: PlatformKey, now: () => number = Date.now): GrantStore {
  const cache = createBriefCache(async (solution) => opened(solution, await stored(solution)), now)
  // Bind the encryption to the row's keys, so that a password copied to another row can't be decrypted there.
  const purposeOf = (solution: string, name: string) => `grant ${solution} ${name}`

  async function stored(solution: string): Promise<StoredGrants> {
    const row = await db.selectFrom('grants').select('value').where('solution', '=', solution).executeTakeFirst()
    return row === undefined ? { databases: {}, http: [], users: false } : (JSON.parse(row.value) as StoredGrants)
  }

  function opened(solution: string, grants: StoredGrants): Grants {
    return { ...grants, databases: mapDatabases(grants.databases, (one, name) => openedDatabase(solution, name, one)) }
  }

  function openedDatabase(solution: string, name: string, { sealedPassword, ...one }: StoredDatabase): DatabaseGrant {
    if (sealedPassword === undefined) return one
    const password = key.decrypt(purposeOf(solution, name), sealedPassword)
    if (password !== null) return { ...one, password }
    throw new PlatformError(
      'ERR_PLATFORM_KEY',
      `The password for the database "${name}" in the grants of "${solution}" cannot be decrypted with the platform’s key. Set it again.`,
    )
  }

  function sealed(
    solution: string,
    name: string,
    { password, ...one }: DatabaseGrant,
    before: StoredDatabase | undefined,
  ): StoredDatabase {
    if (password === '') return one
    if (password !== undefined) return { ...one, sealedPassword: key.encrypt(purposeOf(solution, name), password) }
    // Never send the stored password to another server.
    const isSame = one.username !== undefined && one.username === before?.username && one.server === before.server
    return isSame && before.sealedPassword !== undefined ? { ...one, sealedPassword: before.sealedPassword } : one
  }

  return {
    get: cache.get,
    async show(solution) {
      return shown(await stored(solution))
    },
    async put(solution, wanted) {
      const before = (await stored(solution)).databases
      const databases = mapDatabases(wanted.databases, (one, name) =>
        sealed(solution, name, one, Object.hasOwn(before, name) ? before[name] : undefined),
      )
      const value = { databases, http: wanted.http, users: wanted.users }
      await put(db, 'grants', ['solution'], { solution, value: JSON.stringify(value) })
      cache.forget(solution)
      return shown(value)
    },
  }
}

function shown(grants: StoredGrants): ShownGrants {
  const databases = mapDatabases(grants.databases, ({ sealedPassword, ...one }) => ({
    ...one,
    hasPassword: sealedPassword !== undefined,
  }))
  return { ...grants, databases }
}

function mapDatabases<From, To>(
  databases: Readonly<Record<string, From>>,
  change: (one: From, name: string) => To,
): Record<string, To> {
  const changed = Object.create(null) as Record<string, To>
  for (const [name, one] of Object.entries(databases)) changed[name] = change(one, name)
  return changed
}
