import type { Json } from './plugin.ts'

/** The ways in which a script call can fail. The log, the audit log and problem+json use these codes. */
export const FAILURES = {
  script_error: 'the script threw an error',
  script_timeout: 'the script exceeded its time limit',
  script_memory: 'the script exceeded its memory limit',
  script_crashed: 'the sandbox process exited while the script ran',
  script_quota: 'the script exceeded one of its limits',
  sandbox_busy: 'no sandbox process became available in time',
} as const

export type Failure = keyof typeof FAILURES

/** A position in the author's own files; lines and columns count from 1. */
export type Position = { readonly file: string; readonly line: number; readonly column: number }

/** An effect that the script requested. `plugin` and `method` identify its `Command`. */
export type GuestCommand = { readonly plugin: string; readonly method: string; readonly args: readonly Json[] }

export type Returned = {
  readonly code: 'returned'
  /** The string that the entry function returned; null if it returned no string. */
  readonly result: string | null
  /** A description for the log; set if the entry function returned a value that is not a string. */
  readonly oddResult?: string
  readonly commands: readonly GuestCommand[]
  /** The ids of the requests whose response the scripts did not wait for. */
  readonly unanswered: readonly number[]
  readonly milliseconds: number
}

export type Failed = {
  readonly code: Failure
  /** For the author. It may quote the error that the script threw, so it is never shown to the end user. */
  readonly message: string
  readonly position?: Position
  /** The limit's name in `LIMITS`, with the amounts allowed and used, for timeouts, memory and quotas. */
  readonly limit?: { readonly name: string; readonly allowed: number; readonly used?: number }
  /** For `sandbox_busy`: when to retry, in epoch ms, if known. */
  readonly retryAt?: number
  readonly milliseconds: number
}

export type Outcome = Returned | Failed

/** One line that a script writes to the solution's log. */
export type GuestLogLine = {
  readonly level: LogLevel
  readonly message: string
  readonly position?: Position
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
