/**
 * Explains to the operator why a secret's file could not be read. Omits the path, since it may be the secret itself,
 * set in the wrong property.
 * @param name the property without `_FILE`
 */
export function unreadSecret(name: string, error: unknown): string {
  return `${name}_FILE names a file that ${why((error as NodeJS.ErrnoException).code)}`
}

function why(code: string | undefined): string {
  if (code === 'ENOENT') return 'does not exist (ENOENT); in a container, mount it'
  if (code === 'EACCES') return `this account (user ID ${process.getuid?.()}) cannot read (EACCES); give it read access`
  if (code === 'NO_FILE') return 'is not a regular file but a folder, a pipe or a device; write the secret into a file'
  if (code === 'TOO_LARGE') return 'is larger than 64 kB; use a file that contains only the secret'
  return `cannot be read (${code})`
}
