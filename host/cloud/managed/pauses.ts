/**
 * How long to wait after a failed request to the control center, in ms. Random jitter keeps Satellites from retrying at
 * the same time.
 */
export interface Pauses {
  /** Exponential backoff of up to a minute. `reset` restarts it. */
  next(): number
  /** The wait after a failure that only the operator can fix. */
  barred(): number
  reset(): void
}

/** The first and the longest pause, in ms. The jitter is up to half of a pause. */
const FIRST = 1000
const LONGEST = 60_000
const BARRED = 5 * 60_000

/** @param random returns a number from 0 to 1 */
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
