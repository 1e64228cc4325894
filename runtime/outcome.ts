import type { Json } from './plugin.ts'

/** How a call of a script can fail: the one vocabulary for log, audit and problem+json (design 5.3). */
export const FAILURES = {
  script_error: 'the script threw an error',
  script_timeout: 'the script ran longer than its limit',
  script_memory: 'the script needed more memory than its limit',
  script_crashed: 'the sandbox process ended while the script ran',
  script_quota: 'the script exceeded one of its limits',
  sandbox_busy: 'no sandbox process was free in time',
} as const

export type Failure = keyof typeof FAILURES

/** A place in the customer's own files; lines and columns count from 1. */
export type Position = { readonly file: string; readonly line: number; readonly column: number }

/** An effect that the script asked for: plugin and method name one `Command`. */
export type GuestCommand = { readonly plugin: string; readonly method: string; readonly args: readonly Json[] }

export type Returned = {
  readonly code: 'returned'
  /** What the entry function returned if that was a text, else null. */
  readonly result: string | null
  /** Set when it returned something that is neither nothing nor a text: what it was, for the log. */
  readonly oddResult?: string
  readonly commands: readonly GuestCommand[]
  readonly milliseconds: number
}

export type Failed = {
  readonly code: Failure
  /** For the author; it may quote what the script threw, so it never goes to the end user. */
  readonly message: string
  readonly position?: Position
  /** The limit's name in `LIMITS`, with the amount allowed and used, for timeouts, memory and quotas. */
  readonly limit?: { readonly name: string; readonly allowed: number; readonly used?: number }
  /** For `sandbox_busy`: when it is worth trying again, in epoch ms, where that is known. */
  readonly retryAt?: number
  readonly milliseconds: number
}

export type Outcome = Returned | Failed

/** One line of a solution's log while it is made. */
export type GuestLogLine = {
  readonly level: LogLevel
  readonly message: string
  readonly position?: Position
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
