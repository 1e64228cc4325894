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
