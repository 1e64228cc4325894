import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import { readBytes } from '../../host/http/read-body.ts'
import { SIGNALS, type Signal } from '../../host/telemetry/telemetry-settings.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { createGate } from '../../runtime/gate.ts'
import { environmentOf, requireSatellite, type SatelliteAccessParts } from '../satellites/satellite-access.ts'
import { createComing } from './coming.ts'
import { CONTENT_TYPES, type Format, readRequest, writeAnswer, writeStatus } from './otlp/messages.ts'
import type { Telemetry } from './telemetry.ts'

export type ReceiverParts = SatelliteAccessParts & { readonly telemetry: Telemetry }

/** A body, packed and unpacked, in bytes. A host's has some ten thousand. */
const MOST_PACKED = 4 * 1024 * 1024
const MOST_UNPACKED = 16 * 1024 * 1024
/** Bodies that are unpacked and read at the same time. */
const AT_ONCE = 2
/** When something that could not be taken may come again, in seconds. */
const AGAIN = 5
/** Codes of gRPC by statuses of HTTP. @see https://grpc.io/docs/guides/status-codes/ */
const CODES: Readonly<Record<number, number>> = { 400: 3, 401: 16, 403: 7, 404: 5, 413: 3, 415: 3, 429: 8, 503: 14 }
const unzip = promisify(gunzip)

/**
 * Takes metrics, logs and traces by OTLP over HTTP: `POST /otlp/v1/metrics`, `…/logs` and `…/traces`, with the remote environment
 * token. What is answered with 200 is in the database. @see https://opentelemetry.io/docs/specs/otlp/#otlphttp
 */
export function otlpReceiver(parts: ReceiverParts): Router {
  const router = new Router({ prefix: '/otlp/v1', sensitive: true })
  const coming = createComing()
  const turns = createGate(AT_ONCE)
  router.use(refuseInItsFormat)
  router.use(requireSatellite(parts.environments, parts.environmentTokens, parts.activity))
  for (const signal of SIGNALS) router.post(`/${signal}`, (ctx) => receive(ctx, signal))
  return router

  async function receive(ctx: Context, signal: Signal): Promise<void> {
    const format = formatOf(ctx)
    const environment = environmentOf(ctx)
    const bytes = Math.min(ctx.request.length ?? MOST_PACKED, MOST_PACKED)
    const { request, hash, size } = await coming.take(environment.id, bytes, async () => {
      const packed = await readPacked(ctx)
      await turns.enter()
      try {
        const body = await packed.unpack()
        const digest = createHash('sha256').update(signal).update(body).digest('base64url')
        return { request: readRequest(signal, body, format), hash: digest, size: body.length }
      } finally {
        turns.leave()
      }
    })
    const { rejected, why } = await parts.telemetry.take(environment, signal, request, { hash, size })
    ctx.status = 200
    ctx.type = CONTENT_TYPES[format]
    ctx.body = writeAnswer(signal, rejected, why, format)
  }
}

async function readPacked(ctx: Context): Promise<{ readonly unpack: () => Promise<Buffer> }> {
  const encoding = ctx.get('Content-Encoding').trim().toLowerCase()
  if (encoding !== '' && encoding !== 'gzip' && encoding !== 'identity') {
    const given = encoding.slice(0, 100)
    throw new PlatformError('ERR_CONTENT_TYPE', `The content encoding must be gzip or none, but is ${given}.`)
  }
  const packed = await readBytes(ctx, Object.values(CONTENT_TYPES), MOST_PACKED)
  return { unpack: () => (encoding === 'gzip' ? unpacked(packed) : Promise.resolve(packed)) }
}

async function unpacked(packed: Buffer): Promise<Buffer> {
  try {
    return await unzip(packed, { maxOutputLength: MOST_UNPACKED })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new PlatformError('ERR_BODY_TOO_LARGE', `The body unpacks to more than ${MOST_UNPACKED} bytes.`)
    }
    throw new PlatformError('ERR_BAD_REQUEST', 'The body is not compressed by gzip.', {}, { cause: error })
  }
}

function formatOf(ctx: Context): Format {
  return ctx.is('application/x-protobuf') === false || !ctx.is('application/x-protobuf') ? 'json' : 'pb'
}

/** A refusal is a `Status` in the format of the request; others get theirs as everywhere. */
const refuseInItsFormat: Middleware = async (ctx, next) => {
  try {
    await next()
  } catch (error) {
    if (!(error instanceof PlatformError) || CODES[error.status] === undefined) throw error
    const { status, message } = error
    const format = formatOf(ctx)
    ctx.status = status
    ctx.type = CONTENT_TYPES[format]
    if (status === 429 || status === 503) ctx.set('Retry-After', String(AGAIN))
    // What was not read would be taken for the next request.
    if (status === 413 || status === 429 || status === 503) ctx.set('Connection', 'close')
    ctx.body = writeStatus(CODES[status] ?? 2, message, format)
  }
}
