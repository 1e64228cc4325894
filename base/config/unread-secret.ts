/**
 * Explains to the operator why a secret's file could not be read. Omits the path: it may be the secret itself, set in
 * the wrong property.
 * @param name the property without `_FILE`
 */
export function unreadSecret(name: string, error: unknown): string {
  return `${name}_FILE names a file that ${why((error as NodeJS.ErrnoException).code)}`
}

function why(code: string | undefined): string {
  if (code === 'ENOENT') return 'is not there (ENOENT); in a container it has to be mounted'
  if (code === 'EACCES') return `this account, number ${process.getuid?.()}, may not read (EACCES)`
  if (code === 'NO_FILE') return 'is no file, but a folder, a pipe or a device; write the secret into a file'
  if (code === 'TOO_LARGE') return 'has more than 64 kB; it is another file than that of the secret'
  return `cannot be read (${code})`
}
