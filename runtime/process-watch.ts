import type { Limits } from './limits.ts'
import type { Failed } from './outcome.ts'
import { residentSize } from './process-memory.ts'
import type { SandboxProcess } from './sandbox-process.ts'

/** Watches a sandbox process from outside while calls run in it, and pings an idle one. */
export interface ProcessWatch {
  /** Starts checking every 50 ms. */
  readonly start: () => void
  readonly stop: () => void
  /**
   * Checks the size of the process, because isolated-vm's heap limit is not strict, and much memory is outside the
   * heap.
   * @returns the failure for the call that made the process grow beyond PROCESS_MEMORY; null if the process is smaller
   */
  readonly grown: () => Failed | null
  /** Whether the process has not responded to the last ping. */
  readonly isSilent: () => boolean
  readonly ask: () => void
  readonly answered: () => void
}

/** Interval in ms between checks of a process while a call runs. */
export const WATCH = 50

export function createProcessWatch(process: SandboxProcess, limits: Limits, look: () => void): ProcessWatch {
  let timer: NodeJS.Timeout | null = null
  let isSilent = false

  /**
   * Checks the process after this thread has read its messages. If the thread was busy, timers run before messages are
   * read, but an immediate runs afterwards. The check therefore takes all received messages into account.
   */
  function lookOnceRead(): void {
    setImmediate(() => {
      if (timer !== null) look()
    })
  }

  return {
    start() {
      timer ??= setInterval(lookOnceRead, WATCH)
    },
    stop() {
      if (timer) clearInterval(timer)
      timer = null
    },
    grown() {
      const used = residentSize(process.pid)
      const allowed = limits.PROCESS_MEMORY
      if (used <= allowed) return null
      const message = `the sandbox process used ${megabytes(used)} MB; PROCESS_MEMORY allows at most ${megabytes(allowed)} MB`
      return { code: 'script_memory', message, limit: { name: 'PROCESS_MEMORY', allowed, used }, milliseconds: 0 }
    },
    isSilent: () => isSilent,
    ask() {
      isSilent = true
      process.send({ kind: 'ping' })
    },
    answered() {
      isSilent = false
    },
  }
}

export function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 ** 2)
}
