import { afterEach, expect, test, vi } from 'vitest'
import type { AttemptEnd, ClaimedRun, JobRuns } from '../../../host/jobs/job-runs.ts'
import { createJobWorker, type JobWorkerParts } from '../../../host/jobs/job-worker.ts'
import { createLimits } from '../../../runtime/limits.ts'

afterEach(() => void vi.useRealTimers())

/**
 * Creates a worker whose calls run until they are killed. @param waiting the solutions of the waiting runs, in order
 */
function lab(waiting: readonly string[], more: Partial<JobWorkerParts> & { readonly renew?: JobRuns['renew'] } = {}) {
  const { renew = async () => 'renewed', ...parts } = more
  const left = waiting.map((solution, index) => ({
    id: `run ${index}`,
    lease: `lease ${index}`,
    solution,
    job: 'mail',
  }))
  const calls: { readonly solution: string; readonly signal: AbortSignal }[] = []
  const recorded: AttemptEnd[] = []
  const runs: Partial<JobRuns> = {
    due: async () => [...new Set(left.map(({ solution }) => solution))].map(dueOf),
    async claim(solution) {
      const index = left.findIndex((run) => run.solution === solution)
      return index < 0 ? null : (left.splice(index, 1)[0] as ClaimedRun)
    },
    loseExpired: async () => [],
    trim: async () => {},
    renew,
    async end(_run, end) {
      recorded.push(end)
      return true
    },
  }
  const active = {
    modules: [],
    manifest: { modules: [], loginSolution: null, jobs: { mail: { function: 'send', attempts: 3, atOnce: 10 } } },
  }
  const worker = createJobWorker({
    limits: createLimits(),
    catalog: { active: async () => active } as unknown as JobWorkerParts['catalog'],
    runs: runs as JobRuns,
    schedules: { tick: async () => {} },
    pauses: { paused: async () => new Set() },
    runJob: async ({ solution }, signal) => {
      calls.push({ solution, signal })
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return { kind: 'succeeded', result: null, queued: [] }
    },
    mayStart: async () => true,
    solutionLog: { write: () => {} },
    log: { error: () => {} },
    now: () => 0,
    ...parts,
  })
  return { worker, calls, recorded }
}

function dueOf(solution: string) {
  return { solution, job: 'mail', dueAt: 0 }
}

test('jobs: a call whose lease can’t be renewed for 30 s is killed, before another host may start the run', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] })
  let isReachable = true
  const { worker, calls, recorded } = lab(['shop'], {
    async renew() {
      if (!isReachable) throw new Error('the database is unreachable')
      return 'renewed'
    },
  })
  const isKilled = () => calls[0]?.signal.aborted
  worker.start()
  await vi.advanceTimersByTimeAsync(10_000)
  isReachable = false
  expect(isKilled()).toBe(false)
  await vi.advanceTimersByTimeAsync(30_000)
  expect(isKilled()).toBe(false)
  await vi.advanceTimersByTimeAsync(1000)
  expect(isKilled()).toBe(true)
  await worker.settled()
  expect(recorded).toEqual([])
  await worker.stop()
})

test('jobs: a host runs at most JOBS_AT_ONCE calls of a solution, and for all solutions together, one fewer than it has cores', async () => {
  const limits = createLimits({ JOBS_AT_ONCE: 2 })
  const waiting = ['shop', 'shop', 'shop', 'shop', 'crm', 'crm', 'crm', 'blog']
  const { worker, calls } = lab(waiting, { limits, atOnce: 5 })
  await worker.work()
  const countOf = (name: string) => calls.filter(({ solution }) => solution === name).length
  expect([countOf('shop'), countOf('crm'), countOf('blog')]).toEqual([2, 2, 1])
  const { worker: small, calls: few } = lab(waiting, { limits, atOnce: 2 })
  await small.work()
  expect(few.map(({ solution }) => solution)).toEqual(['shop', 'crm'])
  await Promise.all([worker.stop(), small.stop()])
})

test('jobs: on a host that runs no schedules, due times add no runs, but queued runs start', async () => {
  let ticks = 0
  const schedules = { tick: async () => void ticks++ }
  const { worker, calls } = lab(['shop'], { schedules, hasSchedules: false })
  await worker.work()
  expect([ticks, calls.length]).toEqual([0, 1])
  const { worker: other } = lab([], { schedules })
  await other.work()
  expect(ticks).toBe(1)
  await Promise.all([worker.stop(), other.stop()])
})

test('jobs: during maintenance and while a host drains, no run starts and schedules queue none; afterwards both resume', async () => {
  let ticks = 0
  let mayStart = false
  const schedules = { tick: async () => void ticks++ }
  const { worker, calls } = lab(['shop'], { schedules, mayStart: async () => mayStart })
  await worker.work()
  expect([ticks, calls.length]).toEqual([0, 0])
  mayStart = true
  await worker.work()
  expect([ticks, calls.length]).toEqual([1, 1])
  await worker.stop()
})
