import type { Message } from './messages.ts'

/** Stored attributes, by name. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

/** Maximum attributes per item; further attributes are dropped. */
const MOST_ATTRIBUTES = 64
const LONGEST_NAME = 200
/** Maximum characters of a text; longer texts are truncated. */
export const LONGEST_TEXT = 4096
/** Maximum nested values in one value, at any depth. */
const MOST_NESTED = 200

export function listOf(value: unknown): readonly Message[] {
  return Array.isArray(value) ? (value as readonly Message[]) : []
}

export function messageOf(value: unknown): Message {
  return typeof value === 'object' && value !== null ? (value as Message) : {}
}

/** Reads `KeyValue`s, up to the limits above. Nested values become JSON. */
export function attributesOf(value: unknown): Attributes {
  const attributes: Record<string, string | number | boolean> = Object.create(null)
  for (const one of listOf(value).slice(0, MOST_ATTRIBUTES)) {
    const name = cleanText(one.key, LONGEST_NAME)
    if (name !== '') attributes[name] = plainValueOf(one.value)
  }
  return { ...attributes }
}

/** Converts an `AnyValue` to a plain value; returns '' if it is empty. */
export function plainValueOf(value: unknown): string | number | boolean {
  const any = messageOf(value)
  if (typeof any.stringValue === 'string') return cleanText(any.stringValue)
  if (typeof any.boolValue === 'boolean') return any.boolValue
  if (any.intValue !== undefined) return wholeOf(any.intValue)
  if (typeof any.doubleValue === 'number')
    return Number.isFinite(any.doubleValue) ? any.doubleValue : String(any.doubleValue)
  if (any.arrayValue === undefined && any.kvlistValue === undefined && any.bytesValue === undefined) return ''
  return cleanText(JSON.stringify(jsonOf(any, { left: MOST_NESTED })))
}

function jsonOf(value: unknown, bound: { left: number }): unknown {
  if (bound.left-- <= 0) return '…'
  const any = messageOf(value)
  if (any.arrayValue !== undefined) {
    return listOf(messageOf(any.arrayValue).values)
      .slice(0, Math.max(0, bound.left))
      .map((one) => jsonOf(one, bound))
  }
  if (any.kvlistValue !== undefined) {
    const pairs = listOf(messageOf(any.kvlistValue).values).slice(0, Math.max(0, bound.left))
    return Object.fromEntries(pairs.map((one) => [cleanText(one.key, LONGEST_NAME), jsonOf(one.value, bound)]))
  }
  if (any.bytesValue instanceof Uint8Array) return Buffer.from(any.bytesValue).toString('base64')
  return plainValueOf(any)
}

/** Returns a number if it is a safe integer, otherwise the original text. */
function wholeOf(value: unknown): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : cleanText(value, 30)
}

/** Replaces characters that a database text can't store: NUL and lone surrogates. */
export function cleanText(value: unknown, longest = LONGEST_TEXT): string {
  if (typeof value !== 'string') return ''
  return value.slice(0, longest).toWellFormed().replaceAll('\0', '\u{fffd}')
}

/** Converts nanoseconds to epoch ms; 0 if unknown. */
export function millisecondsOf(value: unknown): number {
  return Math.floor(microsecondsOf(value) / 1000)
}

/** Converts nanoseconds to epoch µs without rounding errors; 0 if unknown. */
export function microsecondsOf(value: unknown): number {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  return /^\d{1,20}$/.test(text) ? Number(BigInt(text) / 1000n) : 0
}

/** Returns an id as hexadecimal digits; '' if it is missing or all zero. */
export function idOf(value: unknown): string {
  return value instanceof Uint8Array && value.some((byte) => byte !== 0) ? Buffer.from(value).toString('hex') : ''
}

/** Identifies the reporting process: `service.instance.id`, which is generated each time the process starts. */
export function instanceOf(resource: unknown): string {
  return cleanText(String(attributesOf(messageOf(resource).attributes)['service.instance.id'] ?? ''), 100)
}
