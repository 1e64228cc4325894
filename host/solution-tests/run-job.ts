import { randomUUID } from 'node:crypto'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { jobsOf } from '../../base/bundles/job-table.ts'
import type { QueuedRun } from '../../plugins/jobs/host.ts'
import { type Json, ScriptError } from '../../runtime/plugin.ts'
import type { ClaimedRun, NewRun } from '../jobs/job-runs.ts'
import { createRunJob } from '../jobs/run-job.ts'
import { createEntryRunner } from '../solutions/run-entry.ts'
import { createRecorder, type RecordedParts } from './recorder.ts'
import { ScriptFailure } from './script-failure.ts'
import { BROWSER, plain } from './sign-in.ts'

/** The members that a test sets for a job's run. Omitted members have the values of a run that a script queued. */
export type TestJobRun = {
  readonly attempt?: number | undefined
  readonly scheduledFor?: number | null | undefined
  readonly missed?: number | undefined
  readonly tenant?: readonly (string | number)[] | undefined
}

/** Runs one attempt of a job. @throws ScriptFailure if the script fails */
export async function runJob(
  solution: ActiveSolution,
  name: string,
  data: Json,
  given: TestJobRun,
  parts: RecordedParts & {
    readonly queued: (runs: readonly Pick<QueuedRun | NewRun, 'id' | 'job' | 'data' | 'key'>[]) => void
  },
): Promise<Json> {
  if (!jobsOf(solution).some((job) => job.name === name)) throw new ScriptError(`the solution has no job "${name}"`)
  const recorder = createRecorder()
  const mark = recorder.mark()
  const run = createRunJob({
    catalog: { active: async () => solution },
    runEntry: createEntryRunner(recorder.around(parts)),
    serverUrlOf: () => BROWSER.serverUrl,
    now: Date.now,
  })
  const ended = await run(claimedRun(solution.name, name, data, given), new AbortController().signal)
  const [failure] = recorder.failuresSince(mark)
  if (failure !== undefined) throw new ScriptFailure(failure)
  if (ended.kind !== 'succeeded') throw new ScriptError(ended.kind === 'failed' ? ended.failure.message : ended.kind)
  parts.queued(ended.queued)
  return plain({ result: ended.result === null ? null : JSON.parse(ended.result), ...recorder.since(mark) })
}

function claimedRun(solution: string, job: string, data: Json, given: TestJobRun): ClaimedRun {
  const { attempt = 1, scheduledFor = null, missed = 0, tenant = null } = given
  const time = Date.now()
  return {
    id: randomUUID(),
    lease: 'test',
    solution,
    job,
    state: 'running',
    tenant,
    data: data === null ? null : JSON.stringify(data),
    result: null,
    failure: null,
    attempt,
    missed,
    scheduledFor,
    dueAt: time,
    createdAt: time,
    startedAt: time,
    endedAt: null,
    isCancelled: false,
  }
}
