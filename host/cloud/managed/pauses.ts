/** How long to wait after what went wrong, in ms; drawn by chance, so that Satellites spread. */
export interface Pauses {
  /** Twice as long after each, up to a minute, until `reset`. */
  next(): number
  /** Where only the operator can put it right. */
  barred(): number
  reset(): void
}

/** The first pause and the longest, in ms; each is drawn from its upper half. */
const FIRST = 1000
const LONGEST = 60_000
const BARRED = 5 * 60_000

/** @param random 0 to 1 */
export function createPauses(random: () => number = Math.random): Pauses {
  let failures = 0
  return {
    next() {
      const longest = Math.min(FIRST * 2 ** Math.min(failures++, 10), LONGEST)
      return longest * (0.5 + random() / 2)
    },
    barred: () => BARRED * (0.75 + random() / 2),
    reset() {
      failures = 0
    },
  }
}
