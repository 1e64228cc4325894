import { randomFillSync } from 'node:crypto'

/**
 * The number of bytes to request from the system at a time. Requesting the bytes for each value separately takes
 * several times as long.
 */
const POOL = 4096
const pool = Buffer.alloc(POOL)
let used = POOL

/**
 * Returns secret random bytes as base64url.
 * @param bytes at most 4096
 */
export function randomText(bytes: number): string {
  const start = draw(bytes)
  const text = pool.toString('base64url', start, used)
  pool.fill(0, start, used)
  return text
}

/**
 * Returns random letters. Each letter of the alphabet is equally likely.
 * @param count at most 4096
 * @param alphabet 32 ASCII letters
 */
export function randomLetters(count: number, alphabet: string): string {
  const start = draw(count)
  for (let at = start; at < used; at++) pool[at] = alphabet.charCodeAt((pool[at] ?? 0) & 31)
  const text = pool.toString('latin1', start, used)
  pool.fill(0, start, used)
  return text
}

/**
 * Each byte of the pool is used only once, as in `crypto.randomUUID`. The caller must overwrite it.
 * @param bytes at most 4096
 * @returns the position of the first of `bytes` new bytes; they end at `used`
 */
function draw(bytes: number): number {
  if (used + bytes > POOL) {
    randomFillSync(pool)
    used = 0
  }
  const start = used
  used += bytes
  return start
}
