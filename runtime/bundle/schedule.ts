import { Cron } from 'croner'

/** The due times of a job. */
export type Schedule = {
  /** The first time after `time`, in epoch ms; null if there is none. */
  next(time: number): number | null
}

/**
 * Reads a schedule of five fields. When the clock is set forward, times in the skipped hour are due at the end of that
 * hour. When it is set back, a time that occurs twice is due only the first time, unless the schedule's hour is `*`.
 * @throws Error if the schedule is malformed
 */
export function createSchedule(schedule: string, timeZone: string): Schedule {
  const cron = new Cron(withoutSteps(schedule), { ...FIVE_FIELDS, timezone: timeZone })
  return { next: (time) => cron.nextRun(new Date(time))?.getTime() ?? null }
}

/** @returns why the schedule is malformed, or null */
export function scheduleProblem(schedule: string): string | null {
  try {
    new Cron(schedule, FIVE_FIELDS)
    return null
  } catch (error) {
    return (error as Error).message.replace(/^CronPattern: /, '').slice(0, 200)
  }
}

/** The first `Intl.DateTimeFormat` takes 15 ms, so it is created only for old names such as `PST`. */
export function isTimeZone(name: string): boolean {
  return (
    isMade(() => new Temporal.ZonedDateTime(0n, name)) || isMade(() => Intl.DateTimeFormat('en', { timeZone: name }))
  )
}

function isMade(make: () => unknown): boolean {
  try {
    make()
    return true
  } catch {
    return false
  }
}

/**
 * `fixedTimeRule`: croner treats a schedule as one with fixed times if its minute and hour contain no wildcards or
 * steps.
 */
const FIVE_FIELDS = { mode: '5-part', fixedTimeRule: 'no-wildcard', paused: true } as const

/**
 * Replaces steps in the minute and hour with lists, so that croner treats the schedule as one with fixed times. A
 * schedule with the hour `*` is unchanged: it should run in both occurrences of a repeated hour.
 */
function withoutSteps(schedule: string): string {
  const [minute = '', hour = '', ...others] = schedule.trim().split(/\s+/)
  if (hour === '*') return schedule
  return [listed(minute, 60), listed(hour, 24), ...others].join(' ')
}

function listed(field: string, size: number): string {
  return field
    .split(',')
    .map((part) => {
      const [, from, to, step] = /^(?:\*|(\d+)-(\d+))(?:\/(\d+))?$/.exec(part) ?? []
      const isWild = part.startsWith('*')
      if (!isWild && step === undefined) return part
      const values: number[] = []
      const last = isWild ? size - 1 : Number(to)
      for (let value = isWild ? 0 : Number(from); value <= last; value += Number(step ?? 1)) values.push(value)
      return values.join(',')
    })
    .join(',')
}
