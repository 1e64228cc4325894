import { CALL_KINDS } from '../call-kinds.ts'
import type { Failure, Position } from '../outcome.ts'
import type { SandboxCall, SandboxOutcome } from '../protocol.ts'
import { findPosition } from './positions.ts'

/**
 * How a call ended. If it succeeded, `json` is the `SandboxOutcome` as the guest wrote it. The JSON is not parsed here,
 * because the host parses and checks it anyway.
 */
export type CallEnd = { readonly ok: true; readonly json: string } | FailedEnd

export type FailedEnd = Extract<SandboxOutcome, { ok: false }>

export type LoadFault = {
  readonly code: 'script_syntax' | 'script_load' | 'script_timeout' | 'script_memory'
  readonly file: string
  readonly line?: number
  readonly column?: number
  readonly message: string
}

type Limits = Readonly<Record<string, number>>

const MEGABYTE = 1024 ** 2
/** The maximum number of characters of a stack trace that are searched. */
const STACK = 4096
/** The guest's wrapper starts its text for a thrown value that is not an Error in the same way (thrown.guest.ts). */
const THROWN = 'Thrown value'
/** The start of the text that the guest's wrapper returns for a successful call. */
const RETURNED = '{"ok":true,'

type GuestFailure = {
  name: string
  message: string
  stack: string
  quota?: { limit: string; allowed: number; used: number }
}

/**
 * Returns a call as the JSON text that calls.guest.ts reads.
 * @param ofClient the numbers of this call and of the client's last successful call; empty for calls without a client
 */
export function callText(
  { entry, args, state, kind = 'login' }: SandboxCall,
  ofClient: { readonly number?: number; readonly counted?: number } = {},
): string {
  const { result, resultLimit, refuses } = CALL_KINDS[kind]
  const rules = result === 'json' ? { returnsJson: true, resultLimit, refuses } : {}
  return JSON.stringify({ kind: 'call', args, state, entry, ...rules, ...ofClient })
}

/** Converts the text in which the guest's wrapper reports a call's end. */
export function endOf(text: string, milliseconds: number, files: ReadonlySet<string>): CallEnd {
  if (text.startsWith(RETURNED)) return { ok: true, json: `${text.slice(0, -1)},"milliseconds":${milliseconds}}` }
  return failedOf(readFailure(text), milliseconds, files)
}

function failedOf(message: GuestFailure, milliseconds: number, files: ReadonlySet<string>): FailedEnd {
  const position = findPosition(message.stack, files)
  const code: Failure = message.quota ? 'script_quota' : 'script_error'
  return {
    ok: false,
    code,
    message: `${message.name}: ${message.message}`,
    ...(position ? { position } : {}),
    ...(message.quota
      ? { limit: { name: message.quota.limit, allowed: message.quota.allowed, used: message.quota.used } }
      : {}),
    milliseconds,
  }
}

/** Converts the text in which the guest's wrapper reports an error that a form's script threw while it loaded. */
export function reportedFault(text: string, file: string, files: ReadonlySet<string>): LoadFault {
  const { name, message, stack } = readFailure(text)
  return { code: 'script_load', message: `${name}: ${message}`, file, ...findPosition(stack, files) }
}

/**
 * Parses the JSON that the guest's wrapper returns for a failed call. If it is invalid, the result is a generic error.
 */
function readFailure(text: string): GuestFailure {
  try {
    return JSON.parse(text) as GuestFailure
  } catch {
    return { name: 'Error', message: 'the call failed, and its error message could not be read', stack: '' }
  }
}

/**
 * @param name the limit's name
 * @param allowed the limit in ms
 * @param where the position of the script when the time ran out; absent if the call was waiting for a response
 */
export function timedOut(name: string, allowed: number, milliseconds: number, where?: Position): FailedEnd {
  const limit = { name, allowed, used: milliseconds }
  const position = where === undefined ? {} : { position: where }
  const message = `the call took longer than ${allowed} ms`
  return { ok: false, code: 'script_timeout', message, ...position, limit, milliseconds }
}

/**
 * Returns where isolated-vm interrupted a script. The error contains the script's stack, and the interrupted function
 * is at its top.
 */
export function cutOffAt(error: unknown, files: ReadonlySet<string>): Position | undefined {
  const stack = error instanceof Error ? error.stack : undefined
  return typeof stack === 'string' ? findPosition(stack.slice(0, STACK), files) : undefined
}

export function outOfMemory(limits: Limits, milliseconds: number): FailedEnd {
  const limit = { name: 'ISOLATE_MEMORY', allowed: limits.ISOLATE_MEMORY as number }
  return { ok: false, code: 'script_memory', message: memoryText(limits), limit, milliseconds }
}

export function memoryText(limits: Limits): string {
  return `the script exceeded its memory limit of ${Math.round((limits.ISOLATE_MEMORY as number) / MEGABYTE)} MB`
}

/**
 * Converts an error that the guest's wrapper did not catch: an error of the isolate itself, or an unhandled rejection.
 * Usually, the script doesn't wait for the rejected Promise, so its position is the only hint.
 */
export function brokenOff(error: unknown, milliseconds: number, files: ReadonlySet<string>): FailedEnd {
  const position = cutOffAt(error, files)
  const message = brokenOffText(error, position !== undefined)
  return { ok: false, code: 'script_error', message, ...(position ? { position } : {}), milliseconds }
}

/** @param ofScript whether the error has a position in a script, so that its name helps the script's author */
function brokenOffText(error: unknown, ofScript: boolean): string {
  if (error instanceof Error) {
    // isolated-vm's text for an unhandled rejection with an object that is not an Error.
    if (error.message.startsWith('An object was thrown from supplied code')) return `${THROWN}: [object]`
    return `${ofScript ? `${error.name}: ` : ''}${error.message.slice(0, 500)}`
  }
  if ((typeof error === 'object' && error !== null) || typeof error === 'function')
    return 'the script failed with an unknown error'
  return `${THROWN}: ${String(error).slice(0, 500)}`
}

/** Converts a loading error to the result of the call that needed the scripts. */
export function loadFailure(fault: LoadFault, limits: Limits, milliseconds: number): FailedEnd {
  const { code, file, line, column, message } = fault
  const failure: Failure = code === 'script_syntax' || code === 'script_load' ? 'script_error' : code
  const position = line === undefined ? {} : { position: { file, line, column: column ?? 1 } }
  const allowed = limits.LOAD_TIME as number
  const limit =
    failure === 'script_timeout' ? { limit: { name: 'LOAD_TIME', allowed, used: milliseconds }, cutOff: true } : {}
  return { ok: false, code: failure, message, ...position, ...limit, milliseconds }
}

export function isLoadFault(value: unknown): value is LoadFault {
  return typeof value === 'object' && value !== null && 'code' in value && 'file' in value && 'message' in value
}

/**
 * Returns the error for top-level code that exceeded its time limit.
 * @param file the file that was loading. The position may be in another file, if this file called a function there
 */
export function loadTimedOut(limits: Limits, file: string, error: unknown, files: ReadonlySet<string>): LoadFault {
  const position = cutOffAt(error, files)
  const message = `the top-level code of the scripts ran longer than ${limits.LOAD_TIME} ms (LOAD_TIME)`
  return { code: 'script_timeout', message, ...(position ?? { file }) }
}

/**
 * Describes an error that scripts caused. If isolated-vm has appended the position of a syntax error to the message, as
 * in `Unexpected token [globals.js:2:14]`, the result contains the position in separate fields.
 */
export function describeFault(
  error: unknown,
  code: LoadFault['code'],
  file: string,
  files: ReadonlySet<string>,
): LoadFault {
  const text = error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 2000) : String(error).slice(0, 2000)
  const stack = error instanceof Error ? (error.stack ?? '').slice(0, STACK) : ''
  const position = findPosition(text.split('\n', 1)[0] ?? '', files) ?? findPosition(stack, files)
  const plain = text.replace(/ \[[^\]\s]+:\d+:\d+\]$/, '')
  const advice = /import statement outside a module|Unexpected token 'export'|: require is not defined$/.test(plain)
  const message = advice
    ? `${plain}: scripts cannot use import, export or require; the top-level functions of all scripts are global`
    : plain
  return position ? { code, message, ...position } : { code, message, file }
}
