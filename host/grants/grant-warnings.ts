import type { Manifest } from '../../runtime/bundle/manifest.ts'
import type { DatabaseGrant, Grants } from './grants.ts'

/** A database as grants name it: the kind of its server and its name there. */
export type DatabasePlace = { readonly server: 'embedded' | DatabaseGrant['server']; readonly database: string }

export type GrantWarning = {
  readonly code: 'not_asked_for' | 'server_differs' | 'shared_account'
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
 * Whether a grant opens the platform's own database. Names are compared without case, as some servers do: a grant that
 * is refused by mistake costs a new name, one that is let through costs all accounts.
 */
export function isPlatformDatabase(grant: DatabasePlace, platform: DatabasePlace): boolean {
  return grant.server === platform.server && grant.database.toLowerCase() === platform.database.toLowerCase()
}

/** What an operator should look at before the grants are used. They hold all the same. */
export function warnOfGrants(
  grants: Pick<Grants, 'http'> & {
    readonly databases: Readonly<Record<string, DatabasePlace & { username?: string }>>
  },
  asked: Asked,
  platform: DatabasePlace,
): GrantWarning[] {
  const warnings: GrantWarning[] = []
  const warn = (code: GrantWarning['code'], message: string) => warnings.push({ code, message })
  for (const [name, { server, username }] of Object.entries(grants.databases)) {
    const wanted = asked.databases[name]
    if (wanted === undefined) warn('not_asked_for', `No manifest of the solution asks for the database "${name}".`)
    else if (wanted.server !== server) {
      warn('server_differs', `The manifest asks for "${name}" on ${wanted.server}, the grant is on ${server}.`)
    }
    if (username === undefined) warn('shared_account', sharedAccount(name, server, platform))
  }
  for (const host of grants.http) {
    if (!asked.http.includes(host)) warn('not_asked_for', `No manifest of the solution asks for the host "${host}".`)
  }
  return warnings
}

function sharedAccount(name: string, server: string, platform: DatabasePlace): string {
  const account = `DB_${server.toUpperCase()}_USERNAME`
  const reach =
    platform.server === server ? " The platform's own database is on that server, so the scripts may reach it." : ''
  return (
    `The database "${name}" is used with the account ${account}. If that is a superuser, the scripts of the solution can ` +
    `do on the server whatever it can, and row policies do not hold.${reach} Grant an account of its own.`
  )
}
