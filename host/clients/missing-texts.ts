import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { Redact } from '../solutions/redact.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'

/** Keys that forms and scripts use and no table has: each is one line of the solution's log, however often it is shown. */
export interface MissingTexts {
  /** @param redact a script may ask for any text, such as a password */
  note(solution: ActiveSolution, key: string, locale: string, redact?: Redact): void
}

/** Versions of which it is known what was said, and keys of each; further ones are not told. */
const MOST_VERSIONS = 1000
const MOST_KEYS = 200

export function createMissingTexts(log: Pick<SolutionLog, 'write'>): MissingTexts {
  const told = new Map<string, Set<string>>()
  return {
    note({ name, loadable }, key, locale, redact = (text) => text) {
      const keys = told.get(loadable.key) ?? new Set()
      if (keys.has(key) || keys.size >= MOST_KEYS) return
      if (told.size >= MOST_VERSIONS) told.clear()
      told.set(loadable.key, keys.add(key))
      log.write(name, {
        level: 'warn',
        message: `i18n: no table has the key "${redact(key).slice(0, 200)}" (looked for in ${locale})`,
      })
    },
  }
}
