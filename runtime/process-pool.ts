import { setTimeout as wait } from 'node:timers/promises'
import { createMemoryBound, type MemoryBound, type MemoryState, NEW_PROCESS } from './memory-bound.ts'
import { memoryOf } from './process-memory.ts'
import { type SandboxProcess, type SandboxProcessOptions, startSandboxProcess } from './sandbox-process.ts'
import { createWaitingRoom } from './waiting-room.ts'

/**
 * Keeps spare sandbox processes, started but empty, so that a solution without a process doesn't wait for one to start.
 */
export interface ProcessPool {
  /** Takes a ready process; null if none could be started or there is not enough memory. */
  take(): Promise<SandboxProcess | null>
  /** Why the last start failed; null if it failed because of memory. */
  readonly lastFailure: () => string | null
  /**
   * Starts spares if there is enough memory. It always keeps one. It keeps more while total memory is below
   * `RUNTIME_XMS`, or while solutions without a process keep arriving.
   */
  fill(): void
  /**
   * Like `fill`, but after a short delay. Starting a process uses CPU time, which the process that was just taken needs
   * first.
   */
  fillSoon(): void
  readonly spares: () => readonly SandboxProcess[]
  /**
   * Whether new work must be refused. True if the last check found the host's own heap nearly full. Also true if the
   * maximum was exceeded and no idle process was left to end.
   */
  readonly isFull: () => boolean
  /**
   * Waits briefly, because scripts free memory when they end.
   * @returns true immediately if the memory is not full; false if new work must be refused
   */
  whenRoom(): Promise<boolean>
  /** Ends extra spares and idle processes until this many bytes are free. @returns whether that succeeded */
  makeRoomFor(bytes: number): boolean
  readonly memory: () => MemoryState
  stop(): void
}

export type ProcessPoolOptions = {
  readonly sandbox: SandboxProcessOptions
  /**
   * Sizes are in bytes. Below `minimum`, extra spares are started. `maximum` applies to the host and all its processes
   * together.
   */
  readonly memory: { readonly minimum: number; readonly maximum: number }
  /** The effective `maximum`, which is lower if a control group has a lower limit. Tests pass their own bound. */
  readonly bound?: MemoryBound | undefined
  /** The processes that serve solutions or check uploads. */
  readonly inUse: () => readonly number[]
  /**
   * Ends the process that has been idle for the longest time.
   * @param isUrgent whether the maximum is exceeded, so that a process in use may be ended too
   * @returns its id; null if there is none
   */
  readonly makeRoom: (isUrgent: boolean) => number | null
  /**
   * Ends the largest process, even if it is in use, because no idle process is left. @returns its id; null if there is
   * none
   */
  readonly endLargest: () => number | null
  /**
   * Whether to keep spares. Default: true. False for short-lived commands, which start only the processes that they
   * use.
   */
  readonly keepsSpare?: boolean | undefined
  /** Called with the reason if a process is needed and could not be started. Must not throw. */
  readonly notStarted?: ((reason: string) => void) | undefined
}

/** The interval in ms between memory checks. Processes grow while they work. */
const LOOK_EVERY = 250
/** The interval in ms while fewer than `NEAR` bytes are free. A script can use up that much in a tenth of a second. */
const LOOK_NEAR = 50
const NEAR = 96 * 1024 ** 2
/** This fraction of the maximum is left free, because processes grow between two checks. */
const KEPT_FREE = 1 / 32
/** The pool gives up after this many starts that produced no ready process. */
const START_TRIES = 3
/** The delay of `fillSoon`, in ms. */
const REFILL_AFTER = 30
/** How long a login waits for a process before it fails, in ms. */
const ROOM_WAIT = 1000
/** Maximum number of waiting calls. Each keeps an HTTP request open. */
const MOST_WAITING = 200
/** Maximum number of spare processes; more would not speed anything up. */
const MOST_SPARES = 4
/**
 * If a solution has to wait for a process, one more spare is kept for this long, in ms. Other solutions without a
 * process will probably follow.
 */
const BURST = 10_000

export function createProcessPool(options: ProcessPoolOptions): ProcessPool {
  const { sandbox, memory, inUse, makeRoom, endLargest, keepsSpare = true } = options
  const bound = options.bound ?? createMemoryBound({ configured: memory.maximum })
  const spares: SandboxProcess[] = []
  /** Processes that have been handed out but are not ready yet. */
  const onTheirWay = new Set<SandboxProcess>()
  /**
   * Processes that were ended to free memory but have not exited yet. Not counted, because they will exit before their
   * replacements have grown.
   */
  const leaving = new Set<number>()
  const demand = createDemand()
  let stopped = false
  let refill: NodeJS.Timeout | null = null
  let failure: string | null = null
  let full = false
  const waiting = createWaitingRoom(MOST_WAITING, ROOM_WAIT)
  let looking = setTimeout(look, LOOK_EVERY).unref()

  function measure(): MemoryState {
    for (const pid of leaving) if (memoryOf(pid).own === 0) leaving.delete(pid)
    const begun = [...spares, ...onTheirWay].map(({ pid }) => pid)
    return bound.measure({ known: inUse(), begun, leaving: [...leaving] })
  }

  /** Returns how much memory is free, in bytes. If negative, this much must be freed. */
  function room({ maximum, used } = measure()): number {
    return maximum * (1 - KEPT_FREE) - used
  }

  function endLongestIdle(isUrgent = false): boolean {
    return noteLeaving(makeRoom(isUrgent))
  }

  function noteLeaving(pid: number | null): boolean {
    if (pid !== null) leaving.add(pid)
    return pid !== null
  }

  /** @param leave the number of spares to keep. The default is 1, so that the next solution does not wait. */
  function endFurtherSpare(leave = 1): boolean {
    if (spares.length <= leave) return false
    const spare = spares.pop() as SandboxProcess
    spare.onEnd = null
    spare.kill()
    return noteLeaving(spare.pid)
  }

  function look(): void {
    const left = keepBelowMaximum()
    full = left < 0 || bound.isHeapFull()
    if (!full) waiting.answer(true)
    if (!stopped) looking = setTimeout(look, left < NEAR ? LOOK_NEAR : LOOK_EVERY).unref()
  }

  /**
   * Ends processes until memory use is below the maximum.
   * @returns the free memory in bytes
   */
  function keepBelowMaximum(): number {
    let state = measure()
    while (room(state) < 0 && (endFurtherSpare() || endLongestIdle(true))) state = measure()
    // Running calls may end soon, so the host waits for them unless the maximum is exceeded.
    if (state.used > state.maximum && !endFurtherSpare(0)) noteLeaving(endLargest())
    return room(state)
  }

  function makeRoomFor(bytes: number): boolean {
    while (room() < bytes) if (!endFurtherSpare() && !endLongestIdle()) return false
    return true
  }

  function fill(): void {
    if (stopped) return
    if (spares.length === 0) {
      if (!makeRoomFor(NEW_PROCESS)) return
      startSpare(sandbox, spares)
    }
    if (!keepsSpare) return
    while (spares.length < MOST_SPARES && mayStartFurther()) startSpare(sandbox, spares)
    while (spares.length > demand.wanted() && measure().used > memory.minimum && endFurtherSpare());
  }

  /**
   * Waits for calls to end, which frees memory. Nothing may be awaited between `fill` and `shift`: another caller would
   * take the process.
   */
  async function takeSpare(): Promise<SandboxProcess | undefined> {
    const end = performance.now() + ROOM_WAIT
    if (spares.length === 0) {
      demand.waited()
      fill()
    }
    while (spares.length === 0 && !stopped && performance.now() < end) {
      await wait(LOOK_NEAR)
      fill()
    }
    return spares.shift()
  }

  function mayStartFurther(): boolean {
    const { maximum, used } = measure()
    const allowed = spares.length < demand.wanted() ? maximum : memory.minimum
    return used + NEW_PROCESS <= Math.min(allowed, maximum * (1 - KEPT_FREE))
  }

  return {
    fill() {
      if (keepsSpare) fill()
    },
    fillSoon() {
      if (!keepsSpare || refill !== null || stopped) return
      refill = setTimeout(() => {
        refill = null
        fill()
      }, REFILL_AFTER)
    },
    spares: () => spares,
    lastFailure: () => failure,
    isFull: () => full,
    whenRoom: async () => !full || (!stopped && (await waiting.wait())),
    makeRoomFor,
    memory: measure,
    async take() {
      for (let tries = 0; tries < START_TRIES && !stopped; tries++) {
        const taken = await takeSpare()
        if (taken === undefined) {
          failure = null
          return null
        }
        taken.onEnd = null
        onTheirWay.add(taken)
        const isReady = await taken.ready.then(
          () => true,
          (error: Error) => {
            failure = error.message
            if (!stopped) options.notStarted?.(error.message)
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
      waiting.answer(false)
      clearTimeout(looking)
      if (refill !== null) clearTimeout(refill)
      for (const process of [...spares, ...onTheirWay]) process.kill()
    },
  }
}

function startSpare(sandbox: SandboxProcessOptions, spares: SandboxProcess[]): void {
  const started = startSandboxProcess(sandbox)
  spares.push(started)
  started.onEnd = () => {
    const index = spares.indexOf(started)
    if (index >= 0) spares.splice(index, 1)
  }
}

/** Counts the solutions that recently had to wait for a process, to determine how many spares to keep. */
function createDemand() {
  let waits: number[] = []
  return {
    waited: () => void waits.push(performance.now()),
    /** The number of spares to keep. */
    wanted(): number {
      const oldest = performance.now() - BURST
      waits = waits.filter((time) => time > oldest)
      return Math.min(MOST_SPARES, 1 + waits.length)
    },
  }
}

function ended(process: SandboxProcess): null {
  process.kill()
  return null
}
