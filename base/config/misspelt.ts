import { nearestKey } from '../../runtime/bundle/nearest-key.ts'

/**
 * Typos are reported only for property names with at least this length. Shorter names, such as PORT, resemble other
 * programs' variables.
 */
const LEAST_LENGTH = 8
/** In property names with at least this length, two typos are recognised; in shorter ones, only one. */
const LONG_NAME = 16

/**
 * Properties of the control center with names similar to a host's properties. They aren't typos, because both services
 * can share an environment.
 */
const OF_CONTROL_CENTER = ['LOGS_KEPT', 'LOGS_KEPT_SIZE']

/**
 * Reports each environment variable whose name is almost a property's name. Otherwise, the property would silently keep
 * its default after a typo. All other variables are assumed to belong to other programs.
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
