/**
 * Explains to the operator why a secret's file could not be read. Omits the path, because an operator may have set the
 * secret itself instead of a path.
 * @param name the property without `_FILE`
 */
export function unreadSecret(name: string, error: unknown): string {
  return `${name}_FILE names a file that ${why((error as NodeJS.ErrnoException).code)}`
}

function why(code: string | undefined): string {
  if (code === 'ENOENT') return 'does not exist (ENOENT). In a container, mount the file.'
  if (code === 'EACCES')
    return `this account (user ID ${process.getuid?.()}) cannot read (EACCES). Give the account read access.`
  if (code === 'NO_FILE') return 'is a folder, a pipe or a device. Write the secret into a regular file.'
  if (code === 'TOO_LARGE') return 'is larger than 64 kB. Use a file that contains only the secret.'
  return `cannot be read (${code})`
}
