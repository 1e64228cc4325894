import { memoryOf } from './process-memory.ts'
import { type SandboxProcess, type SandboxProcessOptions, startSandboxProcess } from './sandbox-process.ts'

/** Spare sandbox processes: started, empty, waiting, so that a cold solution is answered without a process start. */
export interface ProcessPool {
  /** A ready process; null when none could be started or the memory does not allow one. */
  take(): Promise<SandboxProcess | null>
  /** Why the last one could not be started. */
  readonly lastFailure: () => string
  /** Starts spares as far as the memory allows: always one, more while the sum stays below `RUNTIME_XMS`. */
  fill(): void
  /** The same in a moment: to start a process takes time that the first call of the one just taken should have. */
  fillSoon(): void
  readonly spares: () => readonly SandboxProcess[]
  stop(): void
}

export type ProcessPoolOptions = {
  readonly sandbox: SandboxProcessOptions
  /** Bytes: below `minimum` further spares are started, `maximum` is for host and all sandbox processes together. */
  readonly memory: { readonly minimum: number; readonly maximum: number }
  /** The processes that serve solutions or check uploads. */
  readonly inUse: () => readonly number[]
  /**
   * Ends the longest idle process. @param isUrgent the maximum is passed: one that is in use may have to go
   * @returns its id; null when there is none
   */
  readonly makeRoom: (isUrgent: boolean) => number | null
}

/** What a process that serves nobody yet is counted as, in bytes (19 MB measured for one in use). */
const NEW_PROCESS = 24 * 1024 ** 2
/** Processes grow while they work: the memory is looked at this often, in ms. */
const LOOK_EVERY = 250
/** The part of the maximum that is left free for what they grow by from one look to the next. */
const KEPT_FREE = 1 / 32
/** Starting a process again and again, when none becomes ready, helps nobody. */
const START_TRIES = 3
/** In ms. */
const REFILL_AFTER = 30
/** More spares than this serve nobody faster. */
const MOST_SPARES = 4

export function createProcessPool({ sandbox, memory, inUse, makeRoom }: ProcessPoolOptions): ProcessPool {
  const maximum = memory.maximum * (1 - KEPT_FREE)
  const spares: SandboxProcess[] = []
  /** Taken, but not ready yet. */
  const onTheirWay = new Set<SandboxProcess>()
  /** Ended to make room, and not gone yet: they are gone before what is started in their place has grown. */
  const leaving = new Set<number>()
  let stopped = false
  let refill: NodeJS.Timeout | null = null
  let failure = 'the memory of RUNTIME_XMX is used up'
  const timer = setInterval(keepBelowMaximum, LOOK_EVERY)
  timer.unref()

  /** Host and sandbox processes together, in bytes; see `memoryOf` for what they share. */
  function sum(): number {
    const working = inUse()
    for (const pid of leaving) if (!working.includes(pid)) leaving.delete(pid)
    const held = [process.pid, ...working.filter((pid) => !leaving.has(pid))].map(memoryOf)
    // One that has only begun to start is small still, and will not stay so.
    const begun = [...spares, ...onTheirWay].map(({ pid }) => memoryOf(pid))
    const own = total(held.map((one) => one.own)) + total(begun.map((one) => Math.max(one.own, NEW_PROCESS)))
    return own + Math.max(...[...held, ...begun].map(({ shared }) => shared))
  }

  function hasRoom(limit: number): boolean {
    return sum() + NEW_PROCESS <= limit
  }

  function startSpare(): void {
    const started = startSandboxProcess(sandbox)
    spares.push(started)
    started.onExit = () => {
      const index = spares.indexOf(started)
      if (index >= 0) spares.splice(index, 1)
    }
  }

  function endLongestIdle(isUrgent = false): boolean {
    const pid = makeRoom(isUrgent)
    if (pid !== null) leaving.add(pid)
    return pid !== null
  }

  /** One spare always waits, so that the next solution need not. */
  function endFurtherSpare(): boolean {
    if (spares.length < 2) return false
    const spare = spares.pop() as SandboxProcess
    spare.onExit = null
    spare.kill()
    return true
  }

  function keepBelowMaximum(): void {
    while (sum() > maximum && (endFurtherSpare() || endLongestIdle(true)));
  }

  function fill(): void {
    if (stopped) return
    while (spares.length === 0) {
      if (hasRoom(maximum)) startSpare()
      else if (!endLongestIdle()) return
    }
    while (spares.length < MOST_SPARES && hasRoom(Math.min(memory.minimum, maximum))) startSpare()
  }

  return {
    fill,
    fillSoon() {
      if (refill !== null || stopped) return
      refill = setTimeout(() => {
        refill = null
        fill()
      }, REFILL_AFTER)
    },
    spares: () => spares,
    lastFailure: () => failure,
    async take() {
      for (let tries = 0; tries < START_TRIES && !stopped; tries++) {
        if (spares.length === 0) fill()
        const taken = spares.shift()
        if (taken === undefined) return null
        taken.onExit = null
        onTheirWay.add(taken)
        const isReady = await taken.ready.then(
          () => true,
          (error: Error) => {
            failure = error.message
            return false
          },
        )
        onTheirWay.delete(taken)
        if (isReady && !taken.ended()) return stopped ? ended(taken) : taken
      }
      return null
    },
    stop() {
      stopped = true
      clearInterval(timer)
      if (refill !== null) clearTimeout(refill)
      for (const spare of spares) spare.kill()
    },
  }
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

function ended(process: SandboxProcess): null {
  process.kill()
  return null
}
