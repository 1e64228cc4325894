import { expect, test } from 'vitest'
import type { ClaimedRun } from '../../../host/jobs/job-runs.ts'
import { createRunJob, type RunJobParts } from '../../../host/jobs/run-job.ts'
import type { Failed } from '../../../runtime/outcome.ts'

const NOW = Date.parse('2026-06-01T10:00:00Z')
const ACTIVE = {
  name: 'shop',
  texts: {},
  modules: [],
  manifest: { modules: [], loginSolution: null, jobs: { mail: { function: 'send', attempts: 2, atOnce: 1 } } },
}

/**
 * Runs an attempt whose call fails in the given way, or succeeds if `failure` is null.
 * @returns how the attempt ended
 */
async function endOf(failure: Omit<Failed, 'milliseconds'> | null, run: Partial<ClaimedRun> = {}) {
  const parts = {
    catalog: { active: async () => ACTIVE },
    runEntry: async () => ({ failure, effects: {}, result: '{"value":7}' }),
    serverUrlOf: () => 'https://shop.example',
    now: () => NOW,
  } as unknown as RunJobParts
  const claimed = { id: 'run 1', solution: 'shop', job: 'mail', attempt: 1, tenant: null, data: null, ...run }
  return createRunJob(parts)(claimed as ClaimedRun, new AbortController().signal)
}

test('jobs: a run fails with job_unknown if the active version doesn’t have its job', async () => {
  const message = 'the active version of "shop" has no job "letter"'
  const failure = { code: 'job_unknown', message }
  expect(await endOf(null, { job: 'letter' })).toEqual({ kind: 'failed', failure, retryAt: null })
})

test('jobs: if no sandbox process is free, the attempt doesn’t count, and the run waits', async () => {
  const busy = { code: 'sandbox_busy', message: 'all processes are busy' } as const
  expect(await endOf(busy)).toEqual({ kind: 'returned', dueAt: NOW + 5000 })
  expect(await endOf({ ...busy, retryAt: NOW + 60_000 })).toEqual({ kind: 'returned', dueAt: NOW + 60_000 })
})

test('jobs: a failed call is tried again after 30 s, except after the last attempt', async () => {
  const failed = { code: 'script_error', message: 'no mail server' } as const
  const first = await endOf(failed)
  expect(first).toEqual({ kind: 'failed', failure: failed, retryAt: expect.any(Number) })
  const { retryAt } = first as { retryAt: number }
  expect(Math.abs(retryAt - NOW - 30_000)).toBeLessThanOrEqual(3000)
  expect(await endOf(failed, { attempt: 2 })).toEqual({ kind: 'failed', failure: failed, retryAt: null })
})

test('jobs: the function’s result is stored as JSON', async () => {
  expect(await endOf(null)).toEqual({ kind: 'succeeded', result: '7', queued: [] })
})
