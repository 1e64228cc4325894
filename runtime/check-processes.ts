import { availableParallelism } from 'node:os'
import { checkUpload, type Probe, refusedCheck, type UploadCheck } from './check-upload.ts'
import { createGate } from './gate.ts'
import type { Limits } from './limits.ts'
import { memoryFull } from './memory-full.ts'
import type { ProcessPool } from './process-pool.ts'
import { bringForward } from './process-priority.ts'
import type { CheckedFiles, SandboxSolution, UploadFiles } from './protocol.ts'
import type { SandboxProcess } from './sandbox-process.ts'

/** The sandbox processes that uploads are checked in: one for each check, which ends with it. */
export interface CheckProcesses {
  /** See `Supervisor.checkUpload`. @throws ERR_MEMORY_FULL */
  check(
    files: UploadFiles,
    prepare: (checked: CheckedFiles) => Promise<SandboxSolution>,
    probes: readonly Probe[],
  ): Promise<UploadCheck>
  /** Those that live, with the checks that run in them. */
  readonly living: () => readonly { readonly pid: number; readonly calls: number }[]
  /** Ends the check that runs in a process: it throws ERR_MEMORY_FULL. */
  endForRoom(pid: number): void
  stop(): void
}

/** What follows a check, such as clients that go on in the new version, has the processors first: so long, in ms. */
const READY_AFTER = 200

/**
 * @param keepsReady one process has loaded what checks need before the next upload comes, for hosts where somebody waits
 * for each: it takes 40 MB, and saves most of a small upload's time
 */
export function createCheckProcesses(
  limits: Limits,
  pool: Pick<ProcessPool, 'take' | 'spares' | 'fill' | 'fillSoon' | 'lastFailure' | 'isFull'>,
  keepsReady: boolean,
): CheckProcesses {
  const checking = new Set<SandboxProcess>()
  const turns = createGate(availableParallelism())
  /** Their checks say nothing about the upload. */
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
    // The spare that may be there still is for a login.
    if (pool.isFull()) throw memoryFull()
    const process = await take()
    if (process === null) {
      if (pool.lastFailure() === null) throw memoryFull()
      const message = `no sandbox process could be started: ${pool.lastFailure()}`
      return refusedCheck({ code: 'script_crashed', file: '', message })
    }
    checking.add(process)
    // It has UPLOAD_CHECK_TIME by the clock: behind busy solutions, sound files would seem to take too long.
    bringForward(process.pid)
    // One that starts takes from the check what it needs: only where none is left for a login that may come meanwhile.
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
