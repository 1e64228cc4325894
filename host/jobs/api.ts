import { randomUUID } from 'node:crypto'
import type { Context } from 'koa'
import { DONE } from '../../base/api/route.ts'
import { jobTarget, runTarget } from '../../base/api/targets.ts'
import { type Job, jobsOf } from '../../base/bundles/job-table.ts'
import { JobName, MISSED } from '../../runtime/bundle/job-schema.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { z } from '../../runtime/zod.ts'
import { actorOf, hasScope } from '../access/actor.ts'
import { type AdminRoute, route } from '../access/route.ts'
import type { Catalog } from '../solutions/catalog.ts'
import { findSolution, namedSolution, type OfSolution } from '../solutions/find-solution.ts'
import { LogLineSchema } from '../solutions/log-line-schema.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { jobDataText } from './job-data.ts'
import { RUN_STATES, type Run, type RunState, WaitingTooMany } from './job-runs.ts'
import type { JobWorker } from './job-worker.ts'
import { type ListJobsParts, listJobs } from './list-jobs.ts'

export type JobApiParts = Omit<ListJobsParts, 'jobs'> & {
  readonly jobs: ListJobsParts['jobs'] & { readonly worker: Pick<JobWorker, 'wake'> }
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly log: Pick<SolutionLog, 'read'>
  readonly limits: Limits
}

const RUNS_LISTED = 50
const LINES_OF_RUN = 200

const JobRun = z
  .object({
    id: z.string(),
    job: z.string(),
    state: z.enum(RUN_STATES),
    attempt: z.int().describe('number of the latest attempt; 0 if there was none yet'),
    scheduledFor: z
      .int()
      .nullable()
      .describe('the scheduled time of the run; null if a script or an operator queued it'),
    missed: z
      .int()
      .describe('number of earlier due times at which no host could start the job; at most 1,000 are counted'),
    dueAt: z.int().describe('the earliest time at which the next attempt can start'),
    createdAt: z.int(),
    startedAt: z.int().nullable(),
    endedAt: z.int().nullable(),
    failure: z.object({ code: z.string(), message: z.string() }).nullable().describe('the error of the last attempt'),
  })
  .meta({ id: 'JobRun' })

const RunDetails = JobRun.extend({
  tenant: z.array(z.union([z.string(), z.number()])).nullable(),
  data: z
    .unknown()
    .describe(
      'the run’s data; null if the run has succeeded, or if the caller does not have the scope `solutions:{name}:write`',
    ),
  result: z.unknown().describe('the run’s result; null if the caller does not have the scope `solutions:{name}:write`'),
  log: z.array(LogLineSchema),
}).meta({ id: 'JobRunDetails' })

const ListedJob = z
  .object({
    name: z.string(),
    module: z.string().nullable().describe('the module that declares the job; null if the solution itself declares it'),
    function: z.string(),
    schedule: z.string().nullable(),
    timeZone: z.string().nullable(),
    missed: z.enum(MISSED),
    attempts: z.int(),
    atOnce: z.int(),
    next: z.array(z.int()).describe('the next due times, in epoch ms'),
    last: JobRun.nullable(),
  })
  .meta({ id: 'ListedJob' })

const Paused = z.strictObject({ paused: z.boolean() }).meta({ id: 'JobsPaused' })
const Added = z.object({ id: z.string() }).meta({ id: 'JobRunAdded' })
const RunId = z.uuid()

type OfRun = { readonly params: { readonly name: string; readonly id: string } }

/** Routes for the jobs of a solution and their runs. */
export function jobRoutes(parts: JobApiParts): AdminRoute[] {
  return [...listRoutes(parts), ...changeRoutes(parts)]
}

function changeRoutes({ catalog, jobStore, jobs, limits }: JobApiParts): AdminRoute[] {
  const namedRun = ({ params: { name, id } }: OfRun) => ({ solution: name, target: runTarget(id.slice(0, 36)) })

  /** @throws ERR_JOB_UNKNOWN */
  async function needJob(solution: string, job: string): Promise<Job> {
    const found = jobsOf(await catalog.need(solution)).find(({ name }) => name === job)
    if (found !== undefined) return found
    throw new PlatformError(
      'ERR_JOB_UNKNOWN',
      `The active version of "${solution}" has no job "${job.slice(0, 100)}". Check the name.`,
    )
  }

  async function addRun(solution: string, job: string, data: unknown): Promise<string> {
    const text = jobDataText(data, limits)
    const id = randomUUID()
    try {
      await jobStore.runs.add([{ id, solution, job, data: text, key: null, tenant: null, dueAt: Date.now() }])
    } catch (error) {
      if (!(error instanceof WaitingTooMany)) throw error
      throw new PlatformError(
        'ERR_JOBS_WAITING',
        `The solution already has ${limits.JOBS_WAITING} waiting runs, which is the maximum. Try again later, or cancel some runs.`,
      )
    }
    jobs.worker.wake()
    return id
  }

  return [
    route(
      'POST /solutions/:name/jobs/:job/run',
      {
        summary: 'Start a run of a job',
        right: 'solutions:{name}:write',
        act: 'job-run',
        names: ({ params: { name, job } }) => ({ solution: name, target: jobTarget(job.slice(0, 64)) }),
        body: z.strictObject({ data: z.unknown().optional() }).nullable().meta({ id: 'NewJobRun' }),
        isBodyOptional: true,
        answers: { 202: Added },
      },
      async ({ ctx, params: { name, job }, body }) => {
        await needJob(name, job)
        const id = await addRun(name, job, body?.data)
        ctx.status = 202
        return { id }
      },
    ),
    route(
      'POST /solutions/:name/runs/:id/again',
      {
        summary: 'Start a failed or cancelled run again',
        right: 'solutions:{name}:write',
        act: 'job-run',
        names: namedRun,
        answers: { 202: Added },
      },
      async ({ ctx, params: { name, id } }) => {
        const state = RunId.safeParse(id).success ? await jobStore.runs.again(name, id) : null
        if (state === null) throw noRun(name, id)
        if (state !== 'failed' && state !== 'cancelled') throw notAgain(state)
        jobs.worker.wake()
        ctx.status = 202
        return { id }
      },
    ),
    route(
      'DELETE /solutions/:name/runs/:id',
      {
        summary: 'Cancel a run. If it is already running, the host stops it within 10 s',
        right: 'solutions:{name}:write',
        act: 'job-cancel',
        names: namedRun,
        answers: { ...DONE, 202: { description: 'the run is in progress and will be cancelled' } },
      },
      async ({ ctx, params: { name, id } }) => {
        const state = RunId.safeParse(id).success ? await jobStore.runs.cancel(name, id) : null
        if (state === null) throw noRun(name, id)
        if (state !== 'waiting' && state !== 'running') {
          throw new PlatformError(
            'ERR_RUN_ENDED',
            `The run cannot be cancelled, because it has already ended. Its state is "${state}".`,
          )
        }
        ctx.status = state === 'waiting' ? 204 : 202
      },
    ),
  ]
}

function listRoutes(parts: JobApiParts): AdminRoute[] {
  const { store, jobStore, jobs, log } = parts
  const before = ({ params: { name } }: OfSolution) => findSolution(store, name)

  async function readRun(ctx: Context, solution: string, id: string) {
    const run = RunId.safeParse(id).success ? await jobStore.runs.find(solution, id) : null
    if (run === null) throw noRun(solution, id)
    const isShown = hasScope(actorOf(ctx), `solutions:${solution}`, 'write')
    const { items } = await log.read(solution, { limit: LINES_OF_RUN, correlationId: id })
    return {
      ...shownRun(run),
      tenant: run.tenant,
      data: isShown ? parsed(run.data) : null,
      result: isShown ? parsed(run.result) : null,
      log: items,
    }
  }

  return [
    route(
      'GET /solutions/:name/jobs',
      {
        summary: 'List the jobs of the active version',
        right: 'solutions:{name}:read',
        before,
        answers: {
          200: z.object({
            paused: z.boolean(),
            retryAt: z
              .int()
              .nullable()
              .describe(
                'when the host resumes the solution’s jobs, in epoch ms, if it paused them because their processes failed; otherwise null',
              ),
            items: z.array(ListedJob),
          }),
        },
      },
      async ({ params: { name } }) => {
        const { items, ...list } = await listJobs(name, parts)
        return { ...list, items: items.map((job) => ({ ...job, last: job.last && shownRun(job.last) })) }
      },
    ),
    route(
      'PUT /solutions/:name/jobs',
      {
        summary: 'Pause or resume a solution’s jobs. Runs in progress are not interrupted',
        right: 'solutions:{name}:write',
        act: 'jobs-pause',
        names: namedSolution,
        before,
        body: Paused,
        answers: { 200: Paused },
      },
      async ({ params: { name }, body: { paused }, names }) => {
        names.target = paused ? 'paused' : 'resumed'
        await jobStore.pauses.set(name, paused)
        if (!paused) jobs.worker.wake()
        return { paused }
      },
    ),
    route(
      'GET /solutions/:name/runs',
      {
        summary: 'List job runs, newest first',
        right: 'solutions:{name}:read',
        before,
        query: z.strictObject({
          job: JobName.optional(),
          state: z.enum(RUN_STATES).optional(),
          before: RunId.optional().describe(
            'the id of a run; the response contains only runs that are older than this one',
          ),
        }),
        answers: { 200: z.object({ items: z.array(JobRun), next: z.string().nullable() }) },
      },
      async ({ params: { name }, query }) => {
        const items = await jobStore.runs.list(name, query, RUNS_LISTED)
        const next = items.length === RUNS_LISTED ? (items.at(-1)?.id ?? null) : null
        return { items: items.map(shownRun), next }
      },
    ),
    route(
      'GET /solutions/:name/runs/:id',
      {
        summary: 'Get a run with its log lines',
        right: 'solutions:{name}:read',
        before,
        answers: { 200: RunDetails },
      },
      ({ ctx, params: { name, id } }) => readRun(ctx, name, id),
    ),
  ]
}

/** Returns a run without its data, result and tenant, because only some callers may read these. */
function shownRun(run: Run) {
  const { id, job, state, attempt, scheduledFor, missed, dueAt, createdAt, startedAt, endedAt, failure } = run
  return { id, job, state, attempt, scheduledFor, missed, dueAt, createdAt, startedAt, endedAt, failure }
}

function parsed(text: string | null): unknown {
  return text === null ? null : (JSON.parse(text) as unknown)
}

function noRun(solution: string, id: string): PlatformError {
  const text = `"${solution}" has no job run with the id "${id.slice(0, 100)}". Old runs are deleted automatically.`
  return new PlatformError('ERR_NOT_FOUND', text)
}

function notAgain(state: RunState): PlatformError {
  if (state === 'succeeded')
    return new PlatformError(
      'ERR_RUN_DONE',
      'The run succeeded and its data was erased, so it cannot be started again. Start a new run.',
    )
  const code = state === 'skipped' ? 'ERR_RUN_ENDED' : 'ERR_RUN_GOING_ON'
  return new PlatformError(
    code,
    `Only failed and cancelled runs can be started again. The state of this run is "${state}".`,
  )
}
