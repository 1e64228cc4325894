// Targets in the audit log: a kind, a colon, and a name that lets an operator find the target.

/** Has the same form as `actor`, so that one search finds both a user's own actions and changes to that user. */
export function userTarget({ username }: { readonly username: string }): string {
  return `user:${username}`
}

/**
 * Contains the token's id, as `actor` does. Also contains the token's name, which is not recorded anywhere else once
 * the token is deleted.
 */
export function tokenTarget({ id, name }: { readonly id: string; readonly name: string }): string {
  return `token:${id} (${name})`
}

export function solutionTarget(name: string): string {
  return `solution:${name}`
}

/** @param sha256 of the bundle, in hexadecimal; truncated as on the admin pages */
export function versionTarget(sha256: string): string {
  return `version:${sha256.slice(0, 12)}`
}

export function draftTarget(id: string): string {
  return `draft:${id}`
}

export function secretTarget(name: string): string {
  return `secret:${name}`
}

export function jobTarget(name: string): string {
  return `job:${name}`
}

/** @param id of a run of a job */
export function runTarget(id: string): string {
  return `run:${id}`
}
