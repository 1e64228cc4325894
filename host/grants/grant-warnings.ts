import type { Manifest } from '../../runtime/bundle/manifest.ts'
import type { Settings } from '../config/settings.ts'
import type { DatabaseGrant, Grants } from './grants.ts'

/** A database on one of the database servers. */
export type DatabasePlace = { readonly server: 'embedded' | DatabaseGrant['server']; readonly database: string }

/** The platform's own database and the account that the platform uses there. `embedded` has no account. */
export type PlatformPlace = DatabasePlace & { readonly username: string }

export function platformPlaceOf({
  database,
  databaseServers,
}: Pick<Settings, 'database' | 'databaseServers'>): PlatformPlace {
  const { kind, name } = database
  return { server: kind, database: name, username: kind === 'embedded' ? '' : databaseServers[kind].username }
}

type GrantedPlace = DatabasePlace & { readonly username?: string }

export type GrantWarning = {
  readonly code: 'not_asked_for' | 'server_differs' | 'shared_account' | 'refused'
  readonly message: string
}

/** The resources that the manifests of a solution and its modules request. */
export type Asked = Pick<Manifest, 'databases' | 'http'>

export function requestsOf(manifests: readonly Asked[]): Asked {
  return {
    databases: Object.assign(Object.create(null), ...manifests.map(({ databases }) => databases)),
    http: manifests.flatMap(({ http }) => http),
  }
}

/**
 * Returns why a grant must be rejected, or null. A grant is rejected if it opens the platform's own database. It is
 * also rejected if it uses the platform's account on that server, because this account can change users, grants and all
 * other rows. Names are compared case-insensitively, as some servers do. Rejecting too much is harmless, because the
 * operator can choose another name. Accepting too much would expose all accounts.
 */
export function refusalOf({ server, database, username }: GrantedPlace, platform: PlatformPlace): string | null {
  if (server !== platform.server) return null
  if (isSameName(database, platform.database)) {
    return `"${database}" on ${server} is the platform's own database. Grant a different database.`
  }
  if (username !== undefined && !isSameName(username, platform.username)) return null
  return (
    `This grant would use the platform’s own account on the server ${server} (DB_${server.toUpperCase()}_USERNAME), so scripts ` +
    'could change the platform’s data. Create a separate account that can access only this database. ' +
    'Then grant the database with that account’s username and password.'
  )
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/**
 * Returns warnings for the operator. Grants with a warning still apply, except those with `refused`. Earlier releases
 * accepted these.
 */
export function warnOfGrants(
  grants: Pick<Grants, 'http'> & {
    readonly databases: Readonly<Record<string, GrantedPlace>>
  },
  asked: Asked,
  platform: PlatformPlace,
): GrantWarning[] {
  const warnings: GrantWarning[] = []
  const warn = (code: GrantWarning['code'], message: string) => warnings.push({ code, message })
  for (const [name, grant] of Object.entries(grants.databases)) {
    const { server, username } = grant
    const wanted = asked.databases[name]
    if (wanted === undefined)
      warn('not_asked_for', `The solution’s manifests don’t request the database "${name}", so scripts can’t use it.`)
    else if (wanted.server !== server) {
      warn(
        'server_differs',
        `The manifest requests "${name}" on ${wanted.server}, but the grant is for ${server}. Change the grant to ${wanted.server}.`,
      )
    }
    const refusal = refusalOf(grant, platform)
    if (refusal !== null) warn('refused', `The grant for the database "${name}" has no effect. ${refusal}`)
    else if (username === undefined) warn('shared_account', sharedAccount(name, server))
  }
  for (const host of grants.http) {
    if (!asked.http.includes(host))
      warn('not_asked_for', `The solution’s manifests don’t request the host "${host}", so scripts can’t use it.`)
  }
  return warnings
}

function sharedAccount(name: string, server: string): string {
  return (
    `Scripts connect to the database "${name}" with the account in DB_${server.toUpperCase()}_USERNAME, so they have all of its ` +
    'permissions. If other solutions use the same account, these scripts can also access their databases. Row policies ' +
    'do not apply to a superuser or to the owner of a table. Create a separate account for this solution.'
  )
}
