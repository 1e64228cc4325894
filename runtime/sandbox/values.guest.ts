import {
  apply,
  create,
  isArray,
  isFiniteNumber,
  SafeError,
  SafePromise,
  SafeTypeError,
  setPrototypeOf,
  slice,
  stringify,
} from './builtins.guest.ts'

// Creates lists and objects that no script can tamper with, and describes arbitrary values as text.

export function list<T>(): T[] {
  const created: T[] = []
  setPrototypeOf(created, null)
  return created
}

/** Reads the length of an array, or of a Proxy around one, only once. */
export function lengthOf(array: readonly unknown[]): number {
  const length: unknown = array.length
  if (typeof length === 'number' && isFiniteNumber(length) && length >= 0) return length
  throw new SafeTypeError('the length of the array is not a number')
}

export function record<T>(): Record<string, T> {
  return create(null)
}

/** Describes any value as a string. Never throws. */
export function describe(value: unknown): string {
  try {
    if (typeof value === 'string') return value
    if (typeof value === 'object' && value !== null)
      return isArray(value) ? describeArray(value) : describeObject(value)
    if (typeof value === 'function') return '[function]'
    if (typeof value === 'symbol') return '[symbol]'
    return `${value as number}`
  } catch {
    return '[unreadable]'
  }
}

function describeArray(value: unknown[]): string {
  return stringify(value) ?? '[array]'
}

function describeObject(value: object): string {
  if (value instanceof SafeError) return describeError(value)
  if (value instanceof SafePromise) return '[promise]'
  return stringify(value) ?? '[object]'
}

function describeError(error: { name?: unknown; message?: unknown }): string {
  const { name, message } = error
  return `${typeof name === 'string' ? name : 'Error'}: ${typeof message === 'string' ? message : ''}`
}

export function cut(text: string, length: number): string {
  return text.length > length ? `${apply(slice, text, [0, length])}…` : text
}
