import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { Redact } from '../solutions/redact.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'

/**
 * Logs keys that forms or scripts use but no text table contains. Each key is logged once, however often it is shown.
 */
export interface MissingTexts {
  /** @param redact removes secrets: keys come from scripts and may contain a secret, such as a password */
  note(solution: ActiveSolution, key: string, locale: string, redact?: Redact): void
}

/** Maximum number of versions whose logged keys are stored, and maximum number of keys logged per version. */
const MOST_VERSIONS = 1000
const MOST_KEYS = 200

export function createMissingTexts(log: Pick<SolutionLog, 'write'>): MissingTexts {
  const reported = new Map<string, Set<string>>()
  return {
    note({ name, loadable }, key, locale, redact = (text) => text) {
      const keys = reported.get(loadable.key) ?? new Set()
      if (keys.has(key) || keys.size >= MOST_KEYS) return
      if (reported.size >= MOST_VERSIONS) reported.clear()
      reported.set(loadable.key, keys.add(key))
      log.write(name, {
        level: 'warn',
        message: `i18n: no text table contains the key "${redact(key).slice(0, 200)}" (locale ${locale})`,
      })
    },
  }
}
