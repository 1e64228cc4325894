import type { Grants, ShownGrants } from './grants.ts'

/** Describes the difference between two sets of grants, such as `added http:api.example.org, removed users`. */
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

/** Returns a map from each grant's name to the resource that it opens. */
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
