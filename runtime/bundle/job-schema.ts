import { z } from '../zod.ts'
import { isTimeZone, scheduleProblem } from './schedule.ts'
import { FunctionName, orUnknownKey, pattern } from './schema-parts.ts'

// The manifest key `jobs`: functions that run on a schedule, or when a script queues them.

/** Maximum number of jobs per solution. */
export const MOST_JOBS = 100
const MOST_ATTEMPTS = 10
const MOST_AT_ONCE = 10

export const MISSED = ['once', 'skip'] as const

export type JobDeclaration = {
  readonly function: string
  /** Null if the job runs only when it is queued. */
  readonly schedule: string | null
  /** If null, the host's time zone applies. */
  readonly timeZone: string | null
  /**
   * What to do about due times at which no host could start the job: run the job once for all of them, or not at all.
   */
  readonly missed: (typeof MISSED)[number]
  readonly attempts: number
  readonly atOnce: number
}

export const JobName = pattern(
  /^[A-Za-z][A-Za-z0-9_-]*$/,
  64,
  'a name of 1 to 64 letters, digits, "_" and "-" that starts with a letter',
).refine((name) => !(name in Object.prototype), {
  error: 'must not be the name of a property that every JavaScript object has (such as "constructor")',
})

const SCHEDULE = 'five fields (minute, hour, day, month and weekday), such as "30 2 * * *"'
const Schedule = pattern(/^\S+( \S+){4}$/, 200, SCHEDULE).superRefine((schedule, found) => {
  const problem = scheduleProblem(schedule)
  if (problem !== null) found.addIssue({ code: 'custom', message: `must be ${SCHEDULE}: ${problem}`, input: schedule })
})

const ZONE = 'the name of a time zone such as Europe/Brussels'
const TimeZone = pattern(/^[A-Za-z][A-Za-z0-9_+/-]*$/, 64, ZONE).refine(isTimeZone, { error: `must be ${ZONE}` })

function upTo(most: number) {
  const error = `must be a whole number from 1 to ${most}`
  return z.int({ error }).min(1, { error }).max(most, { error })
}

export const JobSchema = z
  .strictObject(
    {
      function: FunctionName.meta({
        title: 'Function',
        description: 'Name of a top-level function. It receives the run and returns the result.',
      }),
      schedule: Schedule.optional().meta({
        title: 'Schedule',
        description:
          'When the job is due, as five fields: minute, hour, day, month and weekday. Example: "30 2 * * *".',
      }),
      timeZone: TimeZone.optional().meta({
        title: 'Time zone',
        description: 'The time zone of the schedule, such as Europe/Brussels. Default: TIMEZONE of the host.',
      }),
      missed: z
        .enum(MISSED, { error: `must be one of ${MISSED.join(', ')}` })
        .optional()
        .meta({
          title: 'Missed',
          description:
            'What happens if no host could start the job at one or more due times. "once": the job runs once for all of them. "skip": it does not run. Default: "once".',
        }),
      attempts: upTo(MOST_ATTEMPTS).optional().meta({
        title: 'Attempts',
        description: 'Maximum number of attempts before a run fails. Default: 3.',
      }),
      atOnce: upTo(MOST_AT_ONCE).optional().meta({
        title: 'At once',
        description: 'Maximum number of concurrent runs of the job, on all hosts. Default: 1.',
      }),
    },
    { error: orUnknownKey('must be an object with "function"') },
  )
  .superRefine((job, found) => {
    for (const key of ['timeZone', 'missed'] as const) {
      if (job.schedule !== undefined || job[key] === undefined) continue
      found.addIssue({ code: 'custom', path: [key], message: 'must not be set without "schedule"', input: job[key] })
    }
  })
  .meta({ title: 'Job', description: 'A function that runs without a signed-in user.' })

export function jobOf(written: z.infer<typeof JobSchema>): JobDeclaration {
  return {
    function: written.function,
    schedule: written.schedule ?? null,
    timeZone: written.timeZone ?? null,
    missed: written.missed ?? 'once',
    attempts: written.attempts ?? 3,
    atOnce: written.atOnce ?? 1,
  }
}
