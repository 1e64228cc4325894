import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import type { Signal } from '../../../base/config/telemetry-settings.ts'
import { PlatformError } from '../../../runtime/errors.ts'
import { type SearchableLine, searchableLine } from '../log-store.ts'
import { type NamedPoint, namedPoint } from '../metric-store.ts'
import { type Format, type Message, readRequest, writeRequest } from '../otlp/messages.ts'
import { readLogs } from '../otlp/read-logs.ts'
import { readMetrics } from '../otlp/read-metrics.ts'
import { readTraces, type Span } from '../otlp/read-traces.ts'
import { type Origin, withOrigin } from './with-origin.ts'

/** A body as received, with the context needed to read it. */
export type PackedBody = {
  readonly signal: Signal
  readonly format: Format
  readonly isZipped: boolean
  readonly bytes: Uint8Array
  /** Environment id. */
  readonly environment: string
  /** The time of arrival, in epoch ms. */
  readonly now: number
  /** How the body is forwarded; null if it is not. */
  readonly forward: { readonly format: Format; readonly origin: Origin } | null
}

/** The contents of a body. `hash` is the hash of the body; `size` is the size of the unpacked body, in bytes. */
export type ReadBody = Items & {
  readonly hash: string
  readonly size: number
  readonly rejected: number
  /** Why the first rejected item was rejected. */
  readonly why: string
  /** The request to forward; null if forwarding is turned off. */
  readonly forward: Uint8Array | null
}

/** The items of the body, ready to be stored. */
export type Items =
  | { readonly signal: 'metrics'; readonly items: readonly NamedPoint[] }
  | { readonly signal: 'logs'; readonly items: readonly SearchableLine[] }
  | { readonly signal: 'traces'; readonly items: readonly Span[] }

/** Maximum size of a decompressed body, in bytes. A host usually sends about ten thousand bytes. */
const MOST_UNPACKED = 16 * 1024 * 1024

/** @throws ERR_BAD_REQUEST, ERR_BODY_TOO_LARGE */
export function readBody({ signal, format, isZipped, bytes, environment, now, forward }: PackedBody): ReadBody {
  const body = isZipped ? unpacked(bytes) : bytes
  const request = readRequest(signal, body, format)
  return {
    ...readItems(signal, request, environment, now),
    hash: createHash('sha256').update(signal).update(body).digest('base64url'),
    size: body.length,
    forward: forward && writeRequest(signal, withOrigin(signal, request, forward.origin), forward.format),
  }
}

/** Reads the items of a request. Everything that takes long to compute is done here, in the reading thread. */
export function readItems(
  signal: Signal,
  request: Message,
  environment: string,
  now: number,
): Items & Pick<ReadBody, 'rejected' | 'why'> {
  if (signal === 'metrics') {
    const { items, ...rest } = readMetrics(request, now)
    return { signal, items: items.map(namedPoint), ...rest }
  }
  if (signal === 'logs') {
    const { items, ...rest } = readLogs(request, now)
    return { signal, items: items.map((line) => searchableLine(environment, line)), ...rest }
  }
  return { signal, ...readTraces(request, now) }
}

function unpacked(packed: Uint8Array): Buffer {
  try {
    return gunzipSync(packed, { maxOutputLength: MOST_UNPACKED })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new PlatformError(
        'ERR_BODY_TOO_LARGE',
        `The decompressed request body is larger than ${MOST_UNPACKED} bytes. Send less data per request.`,
      )
    }
    throw new PlatformError(
      'ERR_BAD_REQUEST',
      'The Content-Encoding header is gzip, but the request body is not valid gzip data. Compress the body, or remove the header.',
      {},
      { cause: error },
    )
  }
}
