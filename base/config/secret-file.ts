import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** No secret is longer, in bytes. */
const LARGEST = 64 * 1024

/**
 * Reads the file that `NAME_FILE` names, without the white space around it. Chosen here: only real files, and without waiting; a
 * start would hang at a pipe that nobody writes to or at a terminal, and never end at a device.
 * @throws what `openSync` throws, and errors with the codes `NO_FILE` and `TOO_LARGE`; `unreadSecret` tells them
 */
export function readSecretFile(file: string): string {
  // Links are followed: secrets are mounted so.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!fstatSync(descriptor).isFile()) throw withCode('NO_FILE')
    // Not by its size: some file systems tell none.
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
