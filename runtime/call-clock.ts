/** The time of one call: when it began, what is left of its limit, and the alarm for when that is over. */
export interface CallClock {
  /** The limit, in ms. */
  readonly allowed: number
  /** As `now` told it; null until the call began. */
  readonly startedAt: () => number | null
  /** Lets its time run from now on. An alarm that was set before is cancelled. */
  readonly begin: () => void
  /** Whole ms since it began; 0 before. */
  readonly elapsed: () => number
  /** What is left of the limit, in ms; below 0 once it is over. */
  readonly left: () => number
  /** Its time runs again, if it stood still. @returns what is left, in whole ms, at least 1 */
  readonly run: () => number
  /** Its time stands still until `run`, and the alarm is cancelled. */
  readonly stop: () => void
  /** How long its time stood still since it began, in ms. */
  readonly waited: () => number
  /** Calls `ring` in so many ms, in place of an alarm that was set before. */
  readonly alarm: (milliseconds: number, ring: () => void) => void
  readonly cancelAlarm: () => void
  readonly hasAlarm: () => boolean
}

/**
 * @param allowed in ms
 * @param now a clock in ms: where scripts are debugged, one that stands still while a debugger holds them
 */
export function createCallClock(allowed: number, now: () => number = () => performance.now()): CallClock {
  let startedAt: number | null = null
  /** When the clock was stopped last. */
  let left = allowed
  let runsSince: number | null = null
  let timer: NodeJS.Timeout | null = null

  function cancelAlarm(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
  }

  function leftNow(): number {
    return runsSince === null ? left : left - (now() - runsSince)
  }

  return {
    allowed,
    startedAt: () => startedAt,
    begin() {
      cancelAlarm()
      startedAt = now()
      runsSince = startedAt
    },
    elapsed: () => (startedAt === null ? 0 : Math.round(now() - startedAt)),
    left: leftNow,
    run() {
      runsSince ??= now()
      return Math.max(1, Math.ceil(leftNow()))
    },
    stop() {
      cancelAlarm()
      left = leftNow()
      runsSince = null
    },
    waited: () => (startedAt === null ? 0 : now() - startedAt - (allowed - leftNow())),
    alarm(milliseconds, ring) {
      cancelAlarm()
      timer = setTimeout(() => {
        timer = null
        ring()
      }, milliseconds)
    },
    cancelAlarm,
    hasAlarm: () => timer !== null,
  }
}
