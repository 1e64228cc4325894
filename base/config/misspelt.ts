import { nearestKey } from '../../runtime/bundle/nearest-key.ts'

/**
 * Minimum length of a property name to check for typos. Shorter names, such as PORT, resemble other programs'
 * variables.
 */
const LEAST_LENGTH = 8
/** From this length on, two typos are tolerated. */
const LONG_NAME = 16

/**
 * The control center's properties that resemble a host's. They aren't typos, because both services can share an
 * environment.
 */
const OF_CONTROL_CENTER = ['LOGS_KEPT', 'LOGS_KEPT_SIZE']

/**
 * Reports each environment variable that is almost the name of a property. Without this, a typo would be ignored and
 * the property would silently keep its default. All other variables belong to other programs.
 */
export function misspeltNames(
  environment: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): string[] {
  const names = new Set([...known, ...OF_CONTROL_CENTER])
  const candidates = known.filter((name) => name.length >= LEAST_LENGTH)
  return Object.keys(environment).flatMap((name) => {
    if (!/^\w+$/.test(name)) return []
    // Environment variables are case-insensitive on Windows.
    if (names.has(name) || (names.has(name.toUpperCase()) && environment[name.toUpperCase()] !== undefined)) return []
    const meant = nearestKey(name, candidates, (candidate) => (candidate.length < LONG_NAME ? 1 : 2))
    if (meant === null) return []
    return [
      `${name} is not a Solhost setting. Did you mean ${meant}? If ${name} is for another program, remove it from Solhost’s environment.`,
    ]
  })
}
