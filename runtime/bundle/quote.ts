import { showName } from './findings.ts'

/** Formats a position in a JSON file for error messages. */
export function pathName(path: readonly PropertyKey[]): string {
  return `"${showName(path.map(String).join('.'))}"`
}

/**
 * Quotes the actual value, worded as the end of a sentence. Objects and lists are not quoted, because their position is
 * enough.
 */
export function quoteValue(value: unknown): string {
  if (typeof value === 'object' && value !== null) return ''
  return `, not ${showName(typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value))}`
}
