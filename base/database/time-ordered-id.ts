import { randomUUID } from 'node:crypto'

/**
 * Returns a random UUID that starts with the time (version 7, RFC 9562, 5.7). Later ids sort after earlier ones, so
 * they are appended to an index. Fully random ids would each change a different page of the index.
 * @param time in epoch ms
 */
export function timeOrderedId(time: number): string {
  const digits = Math.max(time, 0).toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7${randomUUID().slice(15)}`
}
