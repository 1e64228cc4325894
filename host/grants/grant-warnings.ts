import type { Manifest } from '../../runtime/bundle/manifest.ts'
import type { Settings } from '../config/settings.ts'
import type { DatabaseGrant, Grants } from './grants.ts'

/** A database as grants name it: the kind of its server and its name there. */
export type DatabasePlace = { readonly server: 'embedded' | DatabaseGrant['server']; readonly database: string }

/** Where the platform keeps its own data, and the account it uses there; `embedded` has none. */
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

/** What a solution asks for in the manifests of main and its modules. */
export type Asked = Pick<Manifest, 'databases' | 'http'>

export function askedFor(manifests: readonly Asked[]): Asked {
  return {
    databases: Object.assign(Object.create(null), ...manifests.map(({ databases }) => databases)),
    http: manifests.flatMap(({ http }) => http),
  }
}

/**
 * Why a grant must not be used: it opens the platform's own database, or uses the account that the platform itself signs
 * in with there, which may change users, grants and every other row. null: it may be used. Names are compared without
 * case, as some servers do: refusing one by mistake costs a new name, accepting one by mistake costs all accounts.
 */
export function refusalOf({ server, database, username }: GrantedPlace, platform: PlatformPlace): string | null {
  if (server !== platform.server) return null
  if (isSameName(database, platform.database)) {
    return `"${database}" on ${server} is the platform's own database. Grant another one.`
  }
  if (username !== undefined && !isSameName(username, platform.username)) return null
  return (
    `The platform signs in to the server ${server} with the account of DB_${server.toUpperCase()}_USERNAME, so scripts that ` +
    'use it could change the platform. Create an account for this solution alone, with rights to this database only, ' +
    'and grant it with its user name and password.'
  )
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/** What an operator should check. Grants apply despite a warning, except `refused` ones, which an earlier version accepted. */
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
    if (wanted === undefined) warn('not_asked_for', `No manifest of the solution asks for the database "${name}".`)
    else if (wanted.server !== server) {
      warn('server_differs', `The manifest asks for "${name}" on ${wanted.server}, the grant is on ${server}.`)
    }
    const refusal = refusalOf(grant, platform)
    if (refusal !== null) warn('refused', `The grant of "${name}" is refused. ${refusal}`)
    else if (username === undefined) warn('shared_account', sharedAccount(name, server))
  }
  for (const host of grants.http) {
    if (!asked.http.includes(host)) warn('not_asked_for', `No manifest of the solution asks for the host "${host}".`)
  }
  return warnings
}

function sharedAccount(name: string, server: string): string {
  return (
    `The database "${name}" is used with the account of DB_${server.toUpperCase()}_USERNAME. Scripts can do on that server ` +
    'whatever this account can, including in databases of other solutions that use it. Row policies do not apply to a ' +
    'superuser or to the owner of a table. Create an account for this solution alone.'
  )
}
