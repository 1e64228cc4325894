import type { Message } from './messages.ts'

/** Attributes as they are kept: texts and numbers by name. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

/** Attributes of one item; further ones are left out. */
const MOST_ATTRIBUTES = 64
const LONGEST_NAME = 200
/** Characters of a text; further ones are cut. */
export const LONGEST_TEXT = 4096
/** Values within values, however they are nested. */
const MOST_NESTED = 200

export function listOf(value: unknown): readonly Message[] {
  return Array.isArray(value) ? (value as readonly Message[]) : []
}

export function messageOf(value: unknown): Message {
  return typeof value === 'object' && value !== null ? (value as Message) : {}
}

/** `KeyValue`s, bounded. What is no plain value is written as JSON. */
export function attributesOf(value: unknown): Attributes {
  const attributes: Record<string, string | number | boolean> = Object.create(null)
  for (const one of listOf(value).slice(0, MOST_ATTRIBUTES)) {
    const name = cleanText(one.key, LONGEST_NAME)
    if (name !== '') attributes[name] = plainValueOf(one.value)
  }
  return { ...attributes }
}

/** An `AnyValue` as one plain value; none is ''. */
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

/** Whole where it can be exact, else as text. */
function wholeOf(value: unknown): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : cleanText(value, 30)
}

/** Without what a database takes in no text: NUL, and halves of characters. */
export function cleanText(value: unknown, longest = LONGEST_TEXT): string {
  if (typeof value !== 'string') return ''
  return value.slice(0, longest).toWellFormed().replaceAll('\0', '\u{fffd}')
}

/** Epoch ms of nanoseconds; 0: it is unknown. */
export function millisecondsOf(value: unknown): number {
  return Math.floor(microsecondsOf(value) / 1000)
}

/** Epoch µs of nanoseconds, exact; 0: it is unknown. */
export function microsecondsOf(value: unknown): number {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  return /^\d{1,20}$/.test(text) ? Number(BigInt(text) / 1000n) : 0
}

/** An id as hexadecimal digits; '' for none. */
export function idOf(value: unknown): string {
  return value instanceof Uint8Array && value.some((byte) => byte !== 0) ? Buffer.from(value).toString('hex') : ''
}

/** The process that something comes from: `service.instance.id`, a new one at each start. */
export function instanceOf(resource: unknown): string {
  return cleanText(String(attributesOf(messageOf(resource).attributes)['service.instance.id'] ?? ''), 100)
}
