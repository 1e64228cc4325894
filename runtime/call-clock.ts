/** Measures the time of one call: its start, the remaining time, and an alarm. */
export interface CallClock {
  /** The time limit in ms. */
  readonly allowed: number
  /** When the call began, in ms on the clock `now`; null before it begins. */
  readonly startedAt: () => number | null
  /** Starts the clock and cancels any alarm. */
  readonly begin: () => void
  /** Time since the call began, in whole ms; 0 before it begins. */
  readonly elapsed: () => number
  /** Time left until the limit, in ms; negative once it is exceeded. */
  readonly left: () => number
  /** Resumes the clock if it is stopped. @returns the time left, in whole ms, at least 1 */
  readonly run: () => number
  /** Stops the clock until `run` is called, and cancels the alarm. */
  readonly stop: () => void
  /** How long the clock was stopped since the call began, in ms. */
  readonly waited: () => number
  /**
   * Calls `ring` after `milliseconds`, replacing any earlier alarm. If this thread was busy until then, it first reads
   * the messages that have arrived, because one of them may end the call in time.
   */
  readonly alarm: (milliseconds: number, ring: () => void) => void
  readonly cancelAlarm: () => void
  readonly hasAlarm: () => boolean
}

/**
 * @param allowed in ms
 * @param now a clock in ms; if scripts are debugged, it stops while a debugger pauses them
 */
export function createCallClock(allowed: number, now: () => number = () => performance.now()): CallClock {
  let startedAt: number | null = null
  /** The remaining time when the clock was last stopped. */
  let left = allowed
  let runsSince: number | null = null
  let timer: NodeJS.Timeout | null = null
  /** Runs after messages have been read. Timers run before that. */
  let due: NodeJS.Immediate | undefined

  function cancelAlarm(): void {
    if (timer !== null) clearTimeout(timer)
    clearImmediate(due)
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
        due = setImmediate(() => {
          timer = null
          ring()
        })
      }, milliseconds)
    },
    cancelAlarm,
    hasAlarm: () => timer !== null,
  }
}
