import { nearestKey } from '../../runtime/bundle/nearest-key.ts'

/** Shorter names, such as PORT and HOST, resemble names of many other programs. */
const LEAST_LENGTH = 8
/** From this length on, a name with two typing errors is still recognised. */
const LONG_NAME = 16

/** Properties of the control center that are almost a host's: the two may share one environment. */
const OF_CONTROL_CENTER = ['LOGS_KEPT', 'LOGS_KEPT_SIZE']

/**
 * One line for each name that is almost the name of a property. Otherwise it would be ignored, and the property would
 * silently have its default. All other names belong to other programs.
 */
export function misspeltNames(
  environment: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): string[] {
  const names = new Set([...known, ...OF_CONTROL_CENTER])
  const candidates = known.filter((name) => name.length >= LEAST_LENGTH)
  return Object.keys(environment).flatMap((name) => {
    if (!/^\w+$/.test(name)) return []
    // On Windows, names of variables are case-insensitive.
    if (names.has(name) || (names.has(name.toUpperCase()) && environment[name.toUpperCase()] !== undefined)) return []
    const meant = nearestKey(name, candidates, (candidate) => (candidate.length < LONG_NAME ? 1 : 2))
    if (meant === null) return []
    return [`${name} is not a property. Did you mean ${meant}? If it is for another program, unset it here.`]
  })
}
