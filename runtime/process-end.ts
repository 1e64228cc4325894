import type { Failed } from './outcome.ts'
import type { SandboxProcess } from './sandbox-process.ts'

/** The value `well` means that no call caused the kill. */
export type KillCause = 'well' | 'error'

/** Why a sandbox process was killed, and the failure reported for the calls that caused it. */
export interface ProcessEnd<Call> {
  /** Null if the process was not killed, or not by the host. */
  readonly killed: () => KillCause | null
  readonly failed: ReadonlyMap<Call, Failed>
  readonly kill: (cause: KillCause) => void
  readonly killFor: (call: Call, failure: Failed) => void
  /** The process crashed, and this call is the most likely cause. */
  readonly crashedThrough: (call: Call) => void
}

export const CRASHED: Failed = {
  code: 'script_crashed',
  message: 'the sandbox process exited while the script ran',
  milliseconds: 0,
}

export function createProcessEnd<Call>(process: SandboxProcess): ProcessEnd<Call> {
  const failed = new Map<Call, Failed>()
  let killed: KillCause | null = null

  function kill(cause: KillCause): void {
    killed ??= cause
    process.kill()
  }

  return {
    killed: () => killed,
    failed,
    kill,
    killFor(call, failure) {
      failed.set(call, failure)
      kill('error')
    },
    crashedThrough: (call) => void failed.set(call, CRASHED),
  }
}
