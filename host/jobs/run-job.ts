import { type Job, jobsOf } from '../../base/bundles/job-table.ts'
import { availableLocales } from '../../base/bundles/messages.ts'
import { chooseLocale } from '../../base/http/languages.ts'
import type { QueuedRun } from '../../plugins/jobs/host.ts'
import type { Failed } from '../../runtime/outcome.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { EntryRunner } from '../solutions/run-entry.ts'
import type { AttemptEnd, ClaimedRun, NewRun } from './job-runs.ts'

export type RunJobParts = {
  readonly catalog: Pick<Catalog, 'active'>
  readonly runEntry: EntryRunner
  /** The solution's URL without a path, as scripts see it. */
  readonly serverUrlOf: (solution: string) => string
  /** Epoch ms. */
  readonly now: () => number
}

/** Runs one attempt of a job's run. @param signal kills the attempt if aborted */
export type RunJob = (run: ClaimedRun, signal: AbortSignal) => Promise<AttemptEnd>

/** Delay in ms before the second attempt. Each further failure multiplies the delay by four, up to `LONGEST_RETRY`. */
const RETRY_TIME = 30_000
const LONGEST_RETRY = 6 * 3_600_000
/** Delay before the next attempt if no sandbox process was free, in ms. */
const BUSY_TIME = 5000

export function createRunJob({ catalog, runEntry, serverUrlOf, now }: RunJobParts): RunJob {
  return async (run, signal) => {
    const solution = await catalog.active(run.solution)
    if (solution === null) return { kind: 'cancelled' }
    const job = jobsOf(solution).find(({ name }) => name === run.job)
    if (job === undefined) {
      const message = `the active version of "${run.solution}" has no job "${run.job}"`
      return { kind: 'failed', failure: { code: 'job_unknown', message }, retryAt: null }
    }
    const { id, attempt, tenant, data, scheduledFor, missed } = run
    const argument: Json = {
      id,
      name: job.name,
      data: data === null ? null : (JSON.parse(data) as Json),
      attempt,
      scheduledFor,
      missed,
    }
    const { failure, result, effects } = await runEntry(solution, {
      entry: job.declaration.function,
      label: `job ${job.name}`,
      args: [argument],
      secrets: new Map(),
      signal,
      call: {
        kind: 'job',
        correlationId: id,
        user: null,
        account: null,
        tenant,
        address: '',
        locale: chooseLocale('', availableLocales(solution.texts)),
        serverUrl: serverUrlOf(solution.name),
      },
    })
    if (failure !== null) return failedEnd(failure, run, job, now())
    const queued = (effects.queued ?? []).map((one) => newRun(solution.name, one, effects.tenant ?? tenant, now()))
    return { kind: 'succeeded', result: resultOf(result ?? null), queued }
  }
}

/** Converts a run that a script queued to a new run. @param tenant the tenant of the script's call */
export function newRun(solution: string, run: QueuedRun, tenant: NewRun['tenant'], time: number): NewRun {
  const { id, job, data, key } = run
  return { id, solution, job, data, key, tenant: run.tenant ?? tenant, dueAt: run.at ?? time + (run.after ?? 0) }
}

function failedEnd(failed: Failed, { attempt }: ClaimedRun, { declaration }: Job, time: number): AttemptEnd {
  const { code, message, retryAt } = failed
  if (code === 'sandbox_busy') return { kind: 'returned', dueAt: Math.max(retryAt ?? 0, time + BUSY_TIME) }
  const failure = { code, message: message.slice(0, 2000) }
  return { kind: 'failed', failure, retryAt: attempt >= declaration.attempts ? null : time + retryTime(attempt) }
}

/**
 * Returns the delay before the next attempt, in ms. It varies by up to a tenth, so that runs that failed together don't
 * restart together.
 */
export function retryTime(attempt: number, random: () => number = Math.random): number {
  const time = Math.min(RETRY_TIME * 4 ** (attempt - 1), LONGEST_RETRY)
  return Math.round(time * (0.9 + 0.2 * random()))
}

/**
 * Extracts a job's result from `{"value":…}`, as the guest sends it.
 * @returns the value as JSON; null if there is none
 */
function resultOf(result: string | null): string | null {
  if (result === null) return null
  const { value } = JSON.parse(result) as { value?: unknown }
  return value === undefined ? null : JSON.stringify(value)
}
