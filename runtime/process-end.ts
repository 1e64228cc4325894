import type { Failed } from './outcome.ts'
import type { SandboxProcess } from './sandbox-process.ts'

/** `well`: nobody is to blame. */
export type KillCause = 'well' | 'for fault'

/** Why a sandbox process was killed, and how the calls fail that it was killed for. */
export interface ProcessEnd<Call> {
  /** Null: it was not killed, or not from here. */
  readonly killed: () => KillCause | null
  readonly failed: ReadonlyMap<Call, Failed>
  readonly kill: (cause: KillCause) => void
  readonly killFor: (call: Call, failure: Failed) => void
  /** The process crashed through that call, as far as anybody can know. */
  readonly crashedThrough: (call: Call) => void
}

export const CRASHED: Failed = {
  code: 'script_crashed',
  message: 'the sandbox process ended while the script ran',
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
      kill('for fault')
    },
    crashedThrough: (call) => void failed.set(call, CRASHED),
  }
}
