import { availableParallelism } from 'node:os'
import { checkUpload, type Probe, refusedCheck, type UploadCheck } from './check-upload.ts'
import { createGate } from './gate.ts'
import type { Limits } from './limits.ts'
import { memoryFull } from './memory-full.ts'
import type { ProcessPool } from './process-pool.ts'
import { bringForward } from './process-priority.ts'
import type { CheckedFiles, SandboxSolution, UploadFiles } from './protocol.ts'
import type { SandboxProcess } from './sandbox-process.ts'

/** The sandbox processes that check uploads: one per check, killed when the check ends. */
export interface CheckProcesses {
  /** See `Supervisor.checkUpload`. @throws ERR_MEMORY_FULL */
  check(
    files: UploadFiles,
    prepare: (checked: CheckedFiles) => Promise<SandboxSolution>,
    probes: readonly Probe[],
  ): Promise<UploadCheck>
  /** Running processes, with the number of checks in each. */
  readonly living: () => readonly { readonly pid: number; readonly calls: number }[]
  /** Kills a process to free memory: its check throws ERR_MEMORY_FULL. */
  endForRoom(pid: number): void
  stop(): void
}

/**
 * Delay in ms before the next process starts. Work that follows a check, such as moving clients to the new version,
 * gets the CPU first.
 */
const READY_AFTER = 200

/**
 * @param keepsReady whether to keep one process in which the code for checks is already loaded. Checks of small uploads
 * are then much faster, but the process uses 40 MB of memory. Use it on hosts where people wait for their uploads.
 */
export function createCheckProcesses(
  limits: Limits,
  pool: Pick<ProcessPool, 'take' | 'spares' | 'fill' | 'fillSoon' | 'lastFailure' | 'isFull'>,
  keepsReady: boolean,
): CheckProcesses {
  const checking = new Set<SandboxProcess>()
  const turns = createGate(availableParallelism())
  /** Processes that were killed to free memory. An upload whose check ends this way may still be valid. */
  const endedForRoom = new Set<number>()
  let ready: SandboxProcess | null = null
  let later: NodeJS.Timeout | undefined
  let stopped = false

  async function makeReady(): Promise<void> {
    const process = await pool.take()
    if (process === null) return
    if (stopped || ready !== null) return process.kill()
    ready = process
    process.onEnd = () => {
      if (ready === process) ready = null
    }
    process.send({ kind: 'getReadyToCheck' })
    pool.fillSoon()
  }

  async function take(): Promise<SandboxProcess | null> {
    clearTimeout(later)
    const taken = ready
    ready = null
    return taken ?? pool.take()
  }

  async function checkInOwn(...[files, prepare, probes]: Parameters<CheckProcesses['check']>): Promise<UploadCheck> {
    // If the memory is full, refuse the check: any remaining spare is reserved for a login.
    if (pool.isFull()) throw memoryFull()
    const process = await take()
    if (process === null) {
      if (pool.lastFailure() === null) throw memoryFull()
      const message = `the upload could not be checked: ${pool.lastFailure()}`
      return refusedCheck({ code: 'script_crashed', file: '', message })
    }
    checking.add(process)
    // UPLOAD_CHECK_TIME is wall-clock time. At a low priority, even valid files would exceed it while other solutions
    // are busy.
    bringForward(process.pid)
    // Starting a process slows down the check, so do it only if no spare is left for a login.
    if (pool.spares().length === 0) pool.fill()
    try {
      const found = await checkUpload(process, files, prepare, probes, limits)
      if (endedForRoom.has(process.pid)) throw memoryFull()
      return found
    } finally {
      checking.delete(process)
      endedForRoom.delete(process.pid)
      process.kill()
      pool.fillSoon()
      if (keepsReady && !stopped) later = setTimeout(makeReady, READY_AFTER).unref()
    }
  }

  return {
    async check(files, prepare, probes) {
      await turns.enter()
      try {
        return await checkInOwn(files, prepare, probes)
      } finally {
        turns.leave()
      }
    },
    living: () => [
      ...[...checking].map(({ pid }) => ({ pid, calls: 1 })),
      ...(ready === null ? [] : [{ pid: ready.pid, calls: 0 }]),
    ],
    endForRoom(pid) {
      for (const process of checking) {
        if (process.pid !== pid) continue
        endedForRoom.add(pid)
        process.kill()
      }
      if (ready?.pid === pid) ready.kill()
    },
    stop() {
      stopped = true
      clearTimeout(later)
      for (const process of checking) process.kill()
      ready?.kill()
    },
  }
}
