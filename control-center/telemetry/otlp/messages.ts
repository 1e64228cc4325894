import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs/light.js'
import type { Signal } from '../../../base/config/telemetry-settings.ts'
import { PlatformError } from '../../../runtime/errors.ts'
import { isJsonObject } from '../../../runtime/json.ts'
import { countMessages, countValues } from './count-parts.ts'

/** The encoding of a request or response. */
export type Format = 'pb' | 'json'

export const CONTENT_TYPES = { pb: 'application/x-protobuf', json: 'application/json' } as const satisfies Record<
  Format,
  string
>

/**
 * A message with its fields by name. Missing fields have the default values of protobuf. 64-bit integers are strings.
 */
export type Message = Readonly<Record<string, unknown>>

const root = protobuf.Root.fromJSON(JSON.parse(readFileSync(new URL('descriptor.json', import.meta.url), 'utf8')))
/** `google.rpc.Status`, the body of every error response. @see https://opentelemetry.io/docs/specs/otlp/#failures-1 */
const Status = new protobuf.Type('Status')
  .add(new protobuf.Field('code', 1, 'int32'))
  .add(new protobuf.Field('message', 2, 'string'))
root.add(Status)

const SERVICES = {
  metrics: { request: typeOf('metrics', 'ExportMetricsServiceRequest'), rejected: 'rejectedDataPoints' },
  logs: { request: typeOf('logs', 'ExportLogsServiceRequest'), rejected: 'rejectedLogRecords' },
  traces: { request: typeOf('trace', 'ExportTraceServiceRequest'), rejected: 'rejectedSpans' },
} as const satisfies Record<Signal, { readonly request: protobuf.Type; readonly rejected: string }>

const ANSWERS = {
  metrics: typeOf('metrics', 'ExportMetricsServiceResponse'),
  logs: typeOf('logs', 'ExportLogsServiceResponse'),
  traces: typeOf('trace', 'ExportTraceServiceResponse'),
} as const satisfies Record<Signal, protobuf.Type>

function typeOf(part: string, name: string): protobuf.Type {
  return root.lookupType(`opentelemetry.proto.collector.${part}.v1.${name}`)
}

/**
 * The lengths of ids, in bytes. OTLP/JSON encodes ids as hexadecimal and other bytes as base64.
 * @see https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
const IDS = { traceId: 16, spanId: 8, parentSpanId: 8 } as const

/**
 * Maximum messages per request. The limit includes attributes and their values, because each becomes an object. A host
 * sends about a thousand.
 */
const MOST_MESSAGES = 300_000
/** Maximum values per JSON request. Each entry of a list or object is a value, so a message has several. */
const MOST_VALUES = 3 * MOST_MESSAGES

/** @throws ERR_BAD_REQUEST if the body is not a request of this kind, ERR_BODY_TOO_LARGE if it has too many parts */
export function readRequest(signal: Signal, body: Uint8Array, format: Format): Message {
  const { request } = SERVICES[signal]
  try {
    if (
      format === 'pb' ? countMessages(request, body, MOST_MESSAGES) > MOST_MESSAGES : countValues(body) > MOST_VALUES
    ) {
      throw new PlatformError('ERR_BODY_TOO_LARGE', 'The request has too many values. Send less data per request.')
    }
    if (format === 'pb') return plain(request, request.decode(body))
    const json: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    if (!isJsonObject(json)) throw new TypeError('the request body is not an object')
    withIds(json, bytesOfHex)
    return plain(request, request.fromObject(json))
  } catch (error) {
    if (error instanceof PlatformError) throw error
    const what = format === 'pb' ? 'protobuf' : 'JSON'
    throw new PlatformError(
      'ERR_BAD_REQUEST',
      `The request body is not a valid OTLP ${signal} request in ${what} format.`,
      {},
      { cause: error },
    )
  }
}

/** Encodes a request; the inverse of `readRequest`. */
export function writeRequest(signal: Signal, message: Message, format: Format): Uint8Array {
  const { request } = SERVICES[signal]
  if (format === 'pb') return request.encode(request.fromObject(message as Record<string, unknown>)).finish()
  const copy = plain(request, request.fromObject(message as Record<string, unknown>)) as Record<string, unknown>
  withIds(copy, hexOfBytes)
  return Buffer.from(JSON.stringify(copy, (_key, value) => (value instanceof Uint8Array ? base64(value) : value)))
}

/** The success response. If items were rejected, it contains their number, and `why` as the message. */
export function writeAnswer(signal: Signal, rejected: number, why: string, format: Format): Buffer {
  const isWhole = rejected === 0
  const partialSuccess = { [SERVICES[signal].rejected]: String(rejected), errorMessage: why }
  return written(ANSWERS[signal], isWhole ? {} : { partialSuccess }, format)
}

/** Returns the number of items that a collector's response reports as rejected. @throws if the response is malformed */
export function messageAnswer(signal: Signal, answer: Uint8Array, format: Format): number {
  const type = ANSWERS[signal]
  const message =
    format === 'pb' ? type.decode(answer) : type.fromObject(JSON.parse(Buffer.from(answer).toString('utf8')) as Message)
  const { partialSuccess } = plain(type, message) as { partialSuccess?: Message }
  return Number(partialSuccess?.[SERVICES[signal].rejected] ?? 0)
}

/** @param code gRPC status code @see https://grpc.io/docs/guides/status-codes/ */
export function writeStatus(code: number, message: string, format: Format): Buffer {
  return written(Status, { code, message }, format)
}

function written(type: protobuf.Type, message: object, format: Format): Buffer {
  return Buffer.from(
    format === 'json'
      ? JSON.stringify(message)
      : type.encode(type.fromObject(message as Record<string, unknown>)).finish(),
  )
}

function plain(type: protobuf.Type, message: protobuf.Message): Message {
  return type.toObject(message, { longs: String, enums: Number, arrays: true })
}

/** Converts ids at any depth. Uses a loop instead of recursion, because the nesting depth is unlimited. */
function withIds(from: Record<string, unknown>, change: (value: unknown, bytes: number) => unknown): void {
  const open: Record<string, unknown>[] = [from]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    for (const [key, value] of Object.entries(one)) {
      if (Object.hasOwn(IDS, key)) one[key] = change(value, IDS[key as keyof typeof IDS])
      else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
        open.push(value as Record<string, unknown>)
      }
    }
  }
}

function bytesOfHex(value: unknown, bytes: number): Uint8Array {
  if (value === '') return new Uint8Array()
  if (typeof value !== 'string' || value.length !== 2 * bytes || !/^[0-9a-fA-F]+$/.test(value)) {
    throw new TypeError(`an id is not a string of ${2 * bytes} hexadecimal digits`)
  }
  return Buffer.from(value, 'hex')
}

function hexOfBytes(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
