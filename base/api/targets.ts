// Targets in the audit log: a kind, a colon, and a name that lets an operator find the target.

/** Has the same format as `actor`, so that one search finds a user's own actions and all changes to that user. */
export function userTarget({ username }: { readonly username: string }): string {
  return `user:${username}`
}

/**
 * Contains the token's id, as `actor` does. Also contains its name, because after the token is deleted, the name is not
 * stored anywhere else.
 */
export function tokenTarget({ id, name }: { readonly id: string; readonly name: string }): string {
  return `token:${id} (${name})`
}

export function solutionTarget(name: string): string {
  return `solution:${name}`
}

/** @param sha256 the bundle's SHA-256 in hexadecimal; truncated as on the admin pages */
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

/** @param id the id of a job's run */
export function runTarget(id: string): string {
  return `run:${id}`
}
