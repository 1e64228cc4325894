import { proportionalSize } from './process-memory.ts'
import { type SandboxProcess, startSandboxProcess } from './sandbox-process.ts'

/** Spare sandbox processes: started, empty, waiting, so that a cold solution is answered without a process start. */
export interface ProcessPool {
  /** A ready process; null when none could be started or the memory does not allow one. */
  take(): Promise<SandboxProcess | null>
  /** Starts spares as far as the memory allows: always one, more while the sum stays below `RUNTIME_XMS`. */
  fill(): void
  readonly spares: () => readonly SandboxProcess[]
  stop(): void
}

export type ProcessPoolOptions = {
  readonly timeZone: string
  /** Bytes: below `minimum` further spares are started, `maximum` is for host and all sandbox processes together. */
  readonly memory: { readonly minimum: number; readonly maximum: number }
  /** The processes that serve solutions or check uploads. */
  readonly inUse: () => readonly number[]
  /** Ends the longest idle process. @returns false when none is idle */
  readonly makeRoom: () => boolean
}

/** What a new process is counted as before it can be measured, in bytes (25 to 31 MB measured for an empty one). */
const NEW_PROCESS = 32 * 1024 ** 2
/** The sum is measured at most this often, in ms; in between what was started or ended since is counted as new. */
const MEASURE_EVERY = 250
/** Starting a process again and again, when none becomes ready, helps nobody. */
const START_TRIES = 3
/** More spares than this serve nobody faster. */
const MOST_SPARES = 4

export function createProcessPool({ timeZone, memory, inUse, makeRoom }: ProcessPoolOptions): ProcessPool {
  const spares: SandboxProcess[] = []
  let stopped = false
  let measured = { at: Number.NEGATIVE_INFINITY, bytes: 0 }
  let changedSince = 0

  function sum(): number {
    if (performance.now() - measured.at > MEASURE_EVERY) {
      const pids = [process.pid, ...spares.map(({ pid }) => pid), ...inUse()]
      measured = { at: performance.now(), bytes: pids.reduce((total, pid) => total + sizeOf(pid), 0) }
      changedSince = 0
    }
    return measured.bytes + changedSince
  }

  /** A process that has only begun to start is small still, and will not stay so. */
  function sizeOf(pid: number): number {
    return pid === process.pid ? proportionalSize(pid) : Math.max(proportionalSize(pid), NEW_PROCESS)
  }

  function hasRoom(limit: number): boolean {
    return sum() + NEW_PROCESS <= limit
  }

  function startSpare(): void {
    const started = startSandboxProcess({ timeZone })
    changedSince += NEW_PROCESS
    spares.push(started)
    started.onExit = () => {
      const index = spares.indexOf(started)
      if (index >= 0) spares.splice(index, 1)
    }
  }

  function fill(): void {
    if (stopped) return
    while (spares.length === 0) {
      if (hasRoom(memory.maximum)) startSpare()
      else if (makeRoom()) changedSince -= NEW_PROCESS
      else return
    }
    while (spares.length < MOST_SPARES && hasRoom(Math.min(memory.minimum, memory.maximum))) startSpare()
  }

  return {
    fill,
    spares: () => spares,
    async take() {
      for (let tries = 0; tries < START_TRIES && !stopped; tries++) {
        if (spares.length === 0) fill()
        const taken = spares.shift()
        if (taken === undefined) return null
        taken.onExit = null
        const isReady = await taken.ready.then(
          () => true,
          () => false,
        )
        if (isReady && !taken.ended()) return stopped ? ended(taken) : taken
      }
      return null
    },
    stop() {
      stopped = true
      for (const spare of spares) spare.kill()
    },
  }
}

function ended(process: SandboxProcess): null {
  process.kill()
  return null
}
