import type { Fault } from './bundle/faults.ts'
import type { Limits } from './limits.ts'
import type { Failed, GuestLogLine, Outcome } from './outcome.ts'
import type { Json } from './plugin.ts'
import type {
  CheckedFiles,
  FromSandbox,
  SandboxCall,
  SandboxOutcome,
  SandboxSolution,
  Unit,
  UploadFiles,
} from './protocol.ts'
import { type SandboxProcess, startSandboxProcess } from './sandbox-process.ts'

/** A solution version as the supervisor needs it: `solution` is asked for only when a process has to load it. */
export type Loadable = { readonly key: string; readonly solution: () => SandboxSolution }

export type CallHandlers = {
  readonly log: (line: GuestLogLine) => void
  /** Answers a request of the guest. What it throws reaches the script as "plugin.method failed". */
  readonly request: (
    plugin: string,
    method: string,
    args: readonly Json[],
  ) => Promise<{ value: Json; changes: boolean }>
}

/** What an upload's own sandbox process found. */
export type UploadCheck = {
  readonly checked: CheckedFiles | null
  readonly faults: readonly Fault[]
  /** The entry functions that exist, by unit; empty where loading failed. */
  readonly found: ReadonlyMap<Unit, readonly string[]>
}

export type Probe = { readonly unit: Unit; readonly entries: readonly string[] }

export interface Supervisor {
  /** Runs one entry function. Never rejects for what a script does: every end is an outcome. */
  call(version: Loadable, call: SandboxCall, handlers: CallHandlers): Promise<Outcome>
  /** Checks an upload in a process of its own, which ends with it. Its scripts are loaded only if nothing is at fault. */
  checkUpload(
    files: UploadFiles,
    prepare: (checked: CheckedFiles) => SandboxSolution,
    probes: readonly Probe[],
  ): Promise<UploadCheck>
  /** Ends the processes of a solution version that has no running calls; the others end with their last call. */
  retire(key: string): void
  /** The processes that live, for health and tests. */
  processes(): readonly { readonly pid: number; readonly key: string | null; readonly calls: number }[]
  /** Kills every process at once. Running calls end as `script_crashed`. */
  stop(): void
}

type PendingCall = {
  readonly id: number
  readonly version: Loadable
  readonly call: SandboxCall
  readonly handlers: CallHandlers
  readonly settle: (outcome: Outcome) => void
  timer: NodeJS.Timeout | null
  changedSomething: boolean
  replayed: boolean
  startedAt: number | null
}

type Worker = {
  readonly key: string
  readonly process: SandboxProcess
  readonly calls: Map<number, PendingCall>
  lastUsed: number
  retiring: boolean
  /** The call whose deadline passed: the one that the process was killed for. */
  culprit: PendingCall | null
}

/** Beyond a limit that the sandbox process watches itself, the host waits this long before it kills, in ms. */
const DEADLINE_GRACE = 250
/** How long a call may wait behind others for its start, in ms. */
const QUEUE_TIME = 10_000
/** How often idle processes are looked for, in ms. */
const IDLE_SWEEP = 5_000
const CRASHED = 'the sandbox process ended while the script ran'
/** Starting a process again and again, when none becomes ready, helps nobody. */
const START_TRIES = 3

export function createSupervisor(options: { readonly limits: Limits; readonly timeZone: string }): Supervisor {
  const { limits } = options
  /** Those that take new calls, by key. */
  const workers = new Map<string, Worker>()
  /** All that live, those too that only end their last calls. */
  const living = new Set<Worker>()
  const checking = new Set<SandboxProcess>()
  let spare: SandboxProcess | null = null
  let lastId = 0
  let stopped = false

  const sweep = setInterval(retireIdle, IDLE_SWEEP)
  sweep.unref()

  function keepSpare(): void {
    if (stopped || spare !== null) return
    const started = startSandboxProcess({ timeZone: options.timeZone })
    spare = started
    started.onExit = () => {
      if (spare === started) spare = null
    }
  }

  /** The waiting spare, ready; a new spare starts at once in its place. */
  async function takeProcess(): Promise<SandboxProcess | null> {
    for (let tries = 0; tries < START_TRIES && !stopped; tries++) {
      keepSpare()
      const taken = spare as SandboxProcess
      spare = null
      taken.onExit = null
      try {
        await taken.ready
      } catch {
        continue
      }
      if (taken.ended()) continue
      keepSpare()
      return taken
    }
    return null
  }

  const starting = new Map<string, Promise<Worker | null>>()

  function workerFor(version: Loadable): Worker | Promise<Worker | null> {
    const worker = workers.get(version.key)
    if (worker !== undefined) return worker
    const running = starting.get(version.key)
    if (running !== undefined) return running
    const started = startWorker(version).finally(() => starting.delete(version.key))
    starting.set(version.key, started)
    return started
  }

  async function startWorker(version: Loadable): Promise<Worker | null> {
    const process = await takeProcess()
    if (process === null || stopped) {
      process?.kill()
      return null
    }
    const worker: Worker = {
      key: version.key,
      process,
      calls: new Map(),
      lastUsed: Date.now(),
      retiring: false,
      culprit: null,
    }
    process.onMessage = (message) => receive(worker, message)
    process.onExit = () => lose(worker)
    process.send({ kind: 'load', solution: version.solution() })
    workers.set(version.key, worker)
    living.add(worker)
    return worker
  }

  async function dispatch(pending: PendingCall): Promise<void> {
    const worker = await workerFor(pending.version)
    if (stopped) return pending.settle(failed('script_crashed', 'the host is stopping'))
    if (worker === null) return pending.settle(failed('sandbox_busy', 'no sandbox process could be started'))
    if (worker.process.ended()) return replayOrFail(pending)
    worker.calls.set(pending.id, pending)
    worker.lastUsed = Date.now()
    pending.timer = setTimeout(() => giveUpWaiting(worker, pending), QUEUE_TIME)
    worker.process.send({ kind: 'call', id: pending.id, call: pending.call })
  }

  /** The call has not started: the process is busy with others, which have deadlines of their own. */
  function giveUpWaiting(worker: Worker, pending: PendingCall): void {
    finish(worker, pending, failed('sandbox_busy', `the call waited ${QUEUE_TIME} ms for its sandbox process`))
  }

  function receive(worker: Worker, message: FromSandbox): void {
    if (message.kind === 'loaded') return
    const pending = 'id' in message ? worker.calls.get(message.id) : undefined
    if (pending === undefined) return
    if (message.kind === 'started') started(worker, pending)
    else if (message.kind === 'log') pending.handlers.log(message)
    else if (message.kind === 'request') void answer(worker, pending, message)
    else if (message.kind === 'ended') ended(worker, pending, message.outcome)
  }

  function started(worker: Worker, pending: PendingCall): void {
    if (pending.timer) clearTimeout(pending.timer)
    pending.startedAt = performance.now()
    const deadline = limits.LOAD_TIME + limits[pending.call.timeLimit] + DEADLINE_GRACE
    pending.timer = setTimeout(() => endWorker(worker, pending), deadline)
  }

  function ended(worker: Worker, pending: PendingCall, outcome: SandboxOutcome): void {
    finish(worker, pending, outcomeOf(outcome))
    // The isolate is gone after it ran out of memory, and with it what the process was there for.
    if (!outcome.ok && outcome.code === 'script_memory') endWorker(worker, pending)
  }

  /** Kills a process for one call; new calls no longer find it, the others in it run once more elsewhere. */
  function endWorker(worker: Worker, culprit: PendingCall): void {
    worker.culprit = culprit
    forget(worker)
    worker.process.kill()
  }

  function forget(worker: Worker): void {
    if (workers.get(worker.key) === worker) workers.delete(worker.key)
  }

  async function answer(
    worker: Worker,
    pending: PendingCall,
    message: Extract<FromSandbox, { kind: 'request' }>,
  ): Promise<void> {
    const reply = { kind: 'answer', id: pending.id, request: message.request } as const
    try {
      const { value, changes } = await pending.handlers.request(message.plugin, message.method, message.args)
      if (changes) pending.changedSomething = true
      worker.process.send({ ...reply, ok: true, value })
    } catch {
      pending.changedSomething = true
      worker.process.send({ ...reply, ok: false, value: `${message.plugin}.${message.method} failed` })
    }
  }

  function finish(worker: Worker, pending: PendingCall, outcome: Outcome): void {
    if (pending.timer) clearTimeout(pending.timer)
    worker.calls.delete(pending.id)
    worker.lastUsed = Date.now()
    pending.settle(outcome)
    if (worker.retiring && worker.calls.size === 0) worker.process.kill()
  }

  /** The process is gone: the call it was killed for fails, those that only shared it with that call run once more. */
  function lose(worker: Worker): void {
    forget(worker)
    living.delete(worker)
    const lost = [...worker.calls.values()]
    worker.calls.clear()
    for (const pending of lost) {
      if (pending.timer) clearTimeout(pending.timer)
      if (pending === worker.culprit) pending.settle(killed(pending))
      else if (isOnlySuspect(pending, worker, lost)) pending.settle(failed('script_crashed', CRASHED))
      else replayOrFail(pending)
    }
  }

  /** A process that ended by itself while one call ran ended through that call, as far as anybody can know. */
  function isOnlySuspect(pending: PendingCall, worker: Worker, lost: readonly PendingCall[]): boolean {
    if (worker.culprit !== null || pending.startedAt === null) return false
    return lost.filter(({ startedAt }) => startedAt !== null).length === 1
  }

  function replayOrFail(pending: PendingCall): void {
    if (stopped || pending.replayed || pending.changedSomething) {
      pending.settle(failed('script_crashed', CRASHED))
      return
    }
    pending.replayed = true
    pending.startedAt = null
    void dispatch(pending)
  }

  function killed(pending: PendingCall): Failed {
    const allowed = limits[pending.call.timeLimit]
    const used = Math.round(performance.now() - (pending.startedAt ?? performance.now()))
    return {
      code: 'script_timeout',
      message: `the call took longer than ${allowed} ms and its process was ended`,
      limit: { name: pending.call.timeLimit, allowed, used },
      milliseconds: used,
    }
  }

  function retireIdle(): void {
    const oldest = Date.now() - limits.SANDBOX_IDLE
    for (const worker of workers.values()) {
      if (worker.calls.size === 0 && worker.lastUsed < oldest) worker.process.kill()
    }
  }

  keepSpare()
  return {
    call: (version, call, handlers) =>
      new Promise((resolve) => {
        void dispatch({
          id: ++lastId,
          version,
          call,
          handlers,
          settle: resolve,
          timer: null,
          changedSomething: false,
          replayed: false,
          startedAt: null,
        })
      }),
    async checkUpload(files, prepare, probes) {
      const process = await takeProcess()
      if (process === null)
        return refusedCheck({ code: 'script_crashed', file: '', message: 'no sandbox process could be started' })
      checking.add(process)
      try {
        return await runCheck(process, files, prepare, probes, limits)
      } finally {
        checking.delete(process)
        process.kill()
      }
    },
    retire(key) {
      const worker = workers.get(key)
      if (worker === undefined) return
      worker.retiring = true
      forget(worker)
      if (worker.calls.size === 0) worker.process.kill()
    },
    processes: () => [
      ...[...living].map(({ process, key, calls }) => ({ pid: process.pid, key, calls: calls.size })),
      ...(spare === null ? [] : [{ pid: spare.pid, key: null, calls: 0 }]),
      ...[...checking].map(({ pid }) => ({ pid, key: null, calls: 1 })),
    ],
    stop() {
      stopped = true
      clearInterval(sweep)
      spare?.kill()
      for (const worker of living) worker.process.kill()
      for (const process of checking) process.kill()
    },
  }
}

function outcomeOf(outcome: SandboxOutcome): Outcome {
  if (!outcome.ok) {
    const { code, message, position, limit, milliseconds } = outcome
    return { code, message, ...(position ? { position } : {}), ...(limit ? { limit } : {}), milliseconds }
  }
  const { result, odd, commands, milliseconds } = outcome
  return { code: 'returned', result, ...(odd === undefined ? {} : { oddResult: odd }), commands, milliseconds }
}

function failed(code: Failed['code'], message: string): Failed {
  return { code, message, milliseconds: 0 }
}

function refusedCheck(fault: Fault): UploadCheck {
  return { checked: null, faults: [fault], found: new Map() }
}

/** One upload in one process: files first; only if nothing is at fault there, the scripts are loaded and run. */
async function runCheck(
  process: SandboxProcess,
  files: UploadFiles,
  prepare: (checked: CheckedFiles) => SandboxSolution,
  probes: readonly Probe[],
  limits: Limits,
): Promise<UploadCheck> {
  // The stripped scripts and tables come back in one frame, JSON-escaped.
  process.allowLargeFrames(2 * limits.BUNDLE_UNPACKED + 1024 ** 2)
  const ask = conversation(process)
  const first = await ask({ kind: 'check', files }, 'checked', limits.UPLOAD_CHECK_TIME)
  if (typeof first === 'string')
    return refusedCheck(lostFault(first, 'the files of the bundle', limits.UPLOAD_CHECK_TIME))
  const { checked } = first
  const found = new Map<Unit, readonly string[]>()
  if (checked.faults.length > 0) return { checked, faults: checked.faults, found }
  const loaded = await ask({ kind: 'load', solution: prepare(checked) }, 'loaded', limits.UPLOAD_CHECK_TIME)
  if (typeof loaded === 'string')
    return { checked, faults: [lostFault(loaded, 'the scripts', limits.UPLOAD_CHECK_TIME)], found }
  const faults: Fault[] = [...loaded.faults]
  for (const [index, probe] of probes.entries()) {
    if (faults.length > 0) break
    const time = limits.LOAD_TIME + DEADLINE_GRACE
    const probed = await ask({ kind: 'probe', id: index, ...probe }, 'probed', time)
    if (typeof probed === 'string') faults.push(lostFault(probed, `the scripts of ${probe.unit}`, time))
    else {
      faults.push(...probed.faults)
      found.set(probe.unit, probed.found)
    }
  }
  return { checked, faults, found }
}

function lostFault(why: 'timeout' | 'ended', what: string, time: number): Fault {
  if (why === 'timeout')
    return { code: 'script_timeout', file: '', message: `${what} could not be loaded within ${time} ms` }
  return { code: 'script_crashed', file: '', message: `loading ${what} ended the sandbox process` }
}

/** Asks one thing after the other; an answer of another kind than expected is dropped. */
function conversation(process: SandboxProcess) {
  return <Kind extends FromSandbox['kind']>(
    message: Parameters<SandboxProcess['send']>[0],
    expected: Kind,
    time: number,
  ): Promise<Extract<FromSandbox, { kind: Kind }> | 'timeout' | 'ended'> =>
    new Promise((resolve) => {
      if (process.ended()) return resolve('ended')
      const timer = setTimeout(() => resolve('timeout'), time)
      process.onExit = () => {
        clearTimeout(timer)
        resolve('ended')
      }
      process.onMessage = (answer) => {
        if (answer.kind !== expected) return
        clearTimeout(timer)
        resolve(answer as Extract<FromSandbox, { kind: Kind }>)
      }
      process.send(message)
    })
}
