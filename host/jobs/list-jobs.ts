import { jobsOf } from '../../base/bundles/job-table.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { Run } from './job-runs.ts'
import type { JobStore } from './jobs.ts'
import type { Schedules } from './schedules.ts'

/** Number of due times that are listed per job. */
const NEXT = 3

export type ListedJob = {
  readonly name: string
  /** The module that declares the job; null for the solution itself. */
  readonly module: string | null
  readonly function: string
  readonly schedule: string | null
  /** Null if the job has no schedule. */
  readonly timeZone: string | null
  readonly missed: 'once' | 'skip'
  readonly attempts: number
  readonly atOnce: number
  /** The next due times, in epoch ms. */
  readonly next: readonly number[]
  readonly last: Run | null
}

export type ListJobsParts = {
  readonly catalog: Pick<Catalog, 'active'>
  readonly jobStore: Pick<JobStore, 'runs' | 'pauses'>
  readonly jobs: { readonly schedules: Pick<Schedules, 'next'> }
  readonly supervisor: Pick<Supervisor, 'retryAtOf'>
  /** `TIMEZONE`. */
  readonly settings: { readonly timeZone: string }
}

export type JobList = {
  readonly paused: boolean
  readonly items: readonly ListedJob[]
  /** When paused scripts may run again, in epoch ms; null if they aren't paused. */
  readonly retryAt: number | null
}

/** Lists the jobs of a solution's active version. */
export async function listJobs(name: string, parts: ListJobsParts): Promise<JobList> {
  const { catalog, jobStore, jobs, supervisor, settings } = parts
  const paused = await jobStore.pauses.isPaused(name)
  const solution = await catalog.active(name)
  if (solution === null) return { paused, items: [], retryAt: null }
  const listed = jobsOf(solution)
  const last = await jobStore.runs.last(
    name,
    listed.map((job) => job.name),
  )
  const items = listed.map(({ name: job, module, declaration }) => {
    const { timeZone, ...declared } = declaration
    return {
      name: job,
      module,
      ...declared,
      timeZone: declared.schedule === null ? null : (timeZone ?? settings.timeZone),
      next: jobs.schedules.next(declaration, NEXT),
      last: last.get(job) ?? null,
    }
  })
  return { paused, items, retryAt: supervisor.retryAtOf('jobs', solution.loadable.key) }
}
