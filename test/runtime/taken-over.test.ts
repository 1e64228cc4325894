import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createClientWorker } from '../../runtime/client-worker.ts'
import { createLimits } from '../../runtime/limits.ts'
import type { Failed, Outcome } from '../../runtime/outcome.ts'
import type { PendingCall } from '../../runtime/pending-call.ts'
import type { FromSandbox, SandboxCall, SandboxSolution, ToSandbox } from '../../runtime/protocol.ts'
import type { SandboxClient } from '../../runtime/sandbox-client.ts'
import type { SandboxProcess } from '../../runtime/sandbox-process.ts'
import { createWorker } from '../../runtime/worker.ts'

// Tests what a compromised sandbox process can do to the host by sending messages. The process is simulated. It doesn't
// exit when it is killed, because the host must not wait for that.

const limits = createLimits({ CALL_REQUESTS: 20, LOG_LINES: 5 })
const CALL: SandboxCall = { unit: 'main', entry: 'click', args: [], state: {}, timeLimit: 'CALL_TIME' }
const NO_SOLUTION = {} as SandboxSolution

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function playedProcess() {
  const sent: ToSandbox[] = []
  let isOver = false
  const process: SandboxProcess = {
    // No process has this id, so its memory and CPU time are 0.
    pid: 2 ** 31,
    ready: Promise.resolve(),
    send: (message) => void sent.push(message),
    kill() {
      if (isOver) return
      isOver = true
      process.onEnd?.(false)
    },
    sendSoon: (message) => process.send(message),
    unread: () => 0,
    allowLargeFrames: () => {},
    onMessage: null,
    onEnd: null,
    onExit: null,
    ended: () => isOver,
    debug: null,
  }
  return { process, sent, say: (message: FromSandbox) => process.onMessage?.(message) }
}

/** Starts the call for a login, and returns before the process has sent anything. */
function login() {
  const played = playedProcess()
  const logged: string[] = []
  const asked: string[] = []
  const runAgain: number[] = []
  const gone = (_worker: unknown, lost: readonly PendingCall[], failed: ReadonlyMap<PendingCall, Failed>) => {
    for (const pending of lost) {
      const failure = failed.get(pending)
      if (failure) pending.settle(failure)
      else runAgain.push(pending.id)
    }
  }
  const worker = createWorker(played.process, 'key', NO_SOLUTION, limits, {
    gone,
    exited: () => {},
    isLong: () => {},
  })
  function run(id: number) {
    let outcome: Outcome | null = null
    worker.run(
      pendingCall(id, logged, asked, (settled) => (outcome = settled)),
      true,
    )
    return () => outcome
  }
  return { ...played, id: 1, logged, asked, runAgain, run, outcome: run(1) }
}

function pendingCall(id: number, logged: string[], asked: string[], settle: PendingCall['settle']): PendingCall {
  return {
    id,
    version: { key: 'key', solution: () => NO_SOLUTION },
    call: CALL,
    handlers: {
      log: ({ message }) => void logged.push(message),
      request: (_plugin, method) => {
        asked.push(method)
        return { changes: false, value: Promise.resolve(null) }
      },
    },
    settle,
    outcome: new Promise(() => {}),
    changedSomething: false,
    replayed: false,
    hasTurn: false,
  }
}

/** Starts a call in an open client, and returns before the process has sent anything about it. */
async function clientCall() {
  const played = playedProcess()
  const logged: string[] = []
  const asked: string[] = []
  let outcome: { readonly code: string } | null = null
  const worker = createClientWorker(played.process, 'key', NO_SOLUTION, limits, {
    gone: () => {},
    exited: () => {},
  })
  const opening = worker.open({ log: () => {} })
  const idOf = () => (played.sent.at(-1) as { id: number }).id
  played.say({ kind: 'started', id: idOf() })
  played.say({ kind: 'ended', id: idOf(), outcome: { ok: true, result: null, commands: [], milliseconds: 0 } })
  const client = (await opening) as SandboxClient
  const called = client.call(CALL, {
    log: ({ message }) => void logged.push(message),
    request: (_plugin, method) => {
      asked.push(method)
      return { changes: false, value: Promise.resolve(null) }
    },
  })
  void called.then((settled) => {
    outcome = settled
  })
  return { ...played, id: idOf(), logged, asked, outcome: () => outcome }
}

const KINDS = [
  ['a login', async () => login()],
  ['an open client', clientCall],
] as const

test.each(KINDS)(
  '%s: a process that repeatedly reports the call’s start does not keep the call open',
  async (_kind, start) => {
    const { say, id, outcome, process } = await start()
    for (let second = 0; second < 60 && outcome() === null; second++) {
      say({ kind: 'started', id })
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(outcome()).toMatchObject({ code: 'script_timeout', limit: { name: 'CALL_TIME' } })
    expect(process.ended()).toBe(true)
  },
)

test.each(KINDS)('%s: a process that sends requests repeatedly does not keep the call open', async (_kind, start) => {
  const { say, id, outcome, process } = await start()
  say({ kind: 'started', id })
  for (let second = 0; second < 60 && outcome() === null; second++) {
    if (second % 4 === 0) say({ kind: 'request', id, request: second, plugin: 'probe', method: 'ask', args: [] })
    await vi.advanceTimersByTimeAsync(1000)
  }
  expect(outcome()).toMatchObject({ code: 'script_timeout', limit: { name: 'CALL_TIME' } })
  expect(process.ended()).toBe(true)
})

test.each(KINDS)(
  '%s: requests over CALL_REQUESTS get no response, and the process is terminated',
  async (_kind, start) => {
    const { say, id, outcome, asked, process } = await start()
    say({ kind: 'started', id })
    for (let request = 0; request < 100; request++) {
      say({ kind: 'request', id, request, plugin: 'probe', method: 'ask', args: [] })
    }
    await vi.advanceTimersByTimeAsync(0)
    expect(asked).toHaveLength(20)
    expect(process.ended()).toBe(true)
    const limit = { name: 'CALL_REQUESTS', allowed: 20, used: 21 }
    expect(outcome()).toMatchObject({ code: 'script_quota', limit })
  },
)

test.each(KINDS)(
  '%s: the host logs LOG_LINES lines, and one more that may report the limit; it drops further lines',
  async (_kind, start) => {
    const { say, id, logged } = await start()
    say({ kind: 'started', id })
    for (let line = 0; line < 100; line++) say({ kind: 'log', id, level: 'info', message: `${line}` })
    expect(logged).toEqual(['0', '1', '2', '3', '4', '5'])
  },
)

/** A call's alarm rings after the messages that have arrived were read. */
const runImmediates = () => vi.advanceTimersByTimeAsync(1)

test('a call that waited too long to start is rejected, and not retried when its process is killed', async () => {
  const { outcome, process, runAgain } = login()
  await vi.advanceTimersByTimeAsync(10_000)
  await runImmediates()
  expect(outcome()).toMatchObject({ code: 'sandbox_busy' })
  expect(process.ended()).toBe(true)
  expect(runAgain).toEqual([])
})

test('a call that was rejected after waiting for another one is not retried when the process is killed for that one', async () => {
  const { say, outcome, process, runAgain, run } = login()
  const [second, third] = [run(2), run(3)]
  await vi.advanceTimersByTimeAsync(9_000)
  say({ kind: 'started', id: 1 })
  const fourth = run(4)
  await vi.advanceTimersByTimeAsync(1_000)
  await runImmediates()
  expect([second(), third(), fourth()]).toMatchObject([{ code: 'sandbox_busy' }, { code: 'sandbox_busy' }, null])
  expect(process.ended()).toBe(false)
  say({ kind: 'hung', id: 1 })
  expect(outcome()).toMatchObject({ code: 'script_timeout' })
  expect(runAgain).toEqual([4])
})
