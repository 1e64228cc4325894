import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** Maximum size of a secret in bytes. */
const LARGEST = 64 * 1024

/**
 * Reads the file named by `NAME_FILE` and trims white space. Chosen here: reads only regular files, and opens them
 * without blocking. Otherwise, startup could hang on a terminal, a device, or a pipe without a writer.
 * @throws the errors of `openSync`, and errors with the codes `NO_FILE` and `TOO_LARGE`; `unreadSecret` explains them
 */
export function readSecretFile(file: string): string {
  // Follows symbolic links, because orchestrators mount secrets as links.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!fstatSync(descriptor).isFile()) throw withCode('NO_FILE')
    // The file's size isn't used, because some file systems don't report it.
    const bytes = Buffer.alloc(LARGEST + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(descriptor, bytes, length, bytes.length - length, null)
    }
    if (length > LARGEST) throw withCode('TOO_LARGE')
    return bytes.toString('utf8', 0, length).trim()
  } finally {
    closeSync(descriptor)
  }
}

function withCode(code: 'NO_FILE' | 'TOO_LARGE'): Error {
  return Object.assign(new Error(code), { code })
}
