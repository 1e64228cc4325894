import type { Grants, ShownGrants } from '../grants/grants.ts'

// What entries of the audit name as their target: a kind, a colon, and the name under which an operator finds it.

/** In the form of `actor`, so that a search for a user finds what they did, or what was done to them. */
export function userTarget({ username }: { readonly username: string }): string {
  return `user:${username}`
}

/** The id is the one of `actor`. The name is included because nothing else records it once the token is deleted. */
export function tokenTarget({ id, name }: { readonly id: string; readonly name: string }): string {
  return `token:${id} (${name})`
}

export function solutionTarget(name: string): string {
  return `solution:${name}`
}

/** @param sha256 of the bundle, in hexadecimal; cut as the admin pages show it */
export function versionTarget(sha256: string): string {
  return `version:${sha256.slice(0, 12)}`
}

export function secretTarget(name: string): string {
  return `secret:${name}`
}

/** What granting `wanted` adds, changes and removes, such as `added http:api.example.org, removed users`. */
export function grantsTarget(granted: ShownGrants, wanted: Grants): string {
  const [had, has] = [placesOf(granted), placesOf(wanted)]
  const isNewPassword = (name: string) =>
    Object.entries(wanted.databases).some(
      ([database, { password }]) => password !== undefined && name === databaseTarget(database),
    )
  const changes = [
    ...[...has.keys()].filter((name) => !had.has(name)).map((name) => `added ${name}`),
    ...[...has]
      .filter(([name, place]) => had.has(name) && (had.get(name) !== place || isNewPassword(name)))
      .map(([name]) => `changed ${name}`),
    ...[...had.keys()].filter((name) => !has.has(name)).map((name) => `removed ${name}`),
  ]
  return changes.length === 0 ? 'no change' : changes.join(', ')
}

/** Each grant by its name, with what it leads to. */
function placesOf({ databases, http, users }: Grants | ShownGrants): Map<string, string> {
  return new Map([
    ...Object.entries(databases).map(([name, { server, database, username }]) => {
      return [databaseTarget(name), JSON.stringify([server, database, username])] as const
    }),
    ...http.map((host) => [`http:${host}`, ''] as const),
    ...(users ? [['users', ''] as const] : []),
  ])
}

function databaseTarget(name: string): string {
  return `database:${name}`
}
