import { randomFillSync } from 'node:crypto'

/**
 * The number of bytes to request from the system at a time. Requesting the bytes for each value separately takes
 * several times as long.
 */
const POOL = 4096
const pool = Buffer.alloc(POOL)
let used = POOL

/**
 * Returns secret random bytes as base64url. Each byte of the pool is used once and then overwritten, as in
 * `crypto.randomUUID`.
 * @param bytes at most 4096
 */
export function randomText(bytes: number): string {
  if (used + bytes > POOL) {
    randomFillSync(pool)
    used = 0
  }
  const end = used + bytes
  const text = pool.toString('base64url', used, end)
  pool.fill(0, used, end)
  used = end
  return text
}
