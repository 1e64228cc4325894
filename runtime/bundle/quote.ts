import { showName } from './findings.ts'

/** A place in a JSON file as its faults name it. */
export function pathName(path: readonly PropertyKey[]): string {
  return `"${showName(path.map(String).join('.'))}"`
}

/** What came instead, as the end of a sentence. Texts, numbers and the like are quoted; of an object or list the place says enough. */
export function quoteValue(value: unknown): string {
  if (typeof value === 'object' && value !== null) return ''
  return `, not ${showName(typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value))}`
}
