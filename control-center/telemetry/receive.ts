import Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import { SIGNALS, type Signal } from '../../base/config/telemetry-settings.ts'
import { statusOf } from '../../base/http/errors.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { environmentOf, requireSatellite, type SatelliteAccessParts } from '../satellites/satellite-access.ts'
import { createArriving } from './arriving.ts'
import { CONTENT_TYPES, type Format, writeAnswer, writeStatus } from './otlp/messages.ts'
import { createShares } from './shares.ts'
import type { Telemetry } from './telemetry.ts'

export type ReceiverParts = SatelliteAccessParts & { readonly telemetry: Telemetry }

/** Maximum size of a compressed body, in bytes. */
const MOST_PACKED = 4 * 1024 * 1024
/**
 * Maximum total size in bytes of bodies that are arriving or waiting to be read. Without a limit, anyone with a token
 * could fill the memory by sending slowly.
 */
const MOST_ARRIVING = { environment: 24 * 1024 * 1024, organisation: 48 * 1024 * 1024, all: 128 * 1024 * 1024 }
/**
 * Minimum bytes per second after `GRACE` ms. Chosen here: even a modem is faster. By the time this is checked, a body
 * from a host has usually arrived.
 */
const RATE = 4096
const GRACE = 10_000
/** The value of `Retry-After`, in seconds. */
const AGAIN = 5
/**
 * The gRPC code for each HTTP status.
 * @see https://grpc.io/docs/guides/status-codes/
 */
const CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  408: 4,
  413: 3,
  415: 3,
  429: 8,
  503: 14,
}

/**
 * Receives metrics, logs and traces over OTLP/HTTP at `POST /otlp/v1/metrics`, `…/logs` and `…/traces`. Satellites
 * authenticate with the remote environment token. A 200 response means that the data is committed to the database.
 * @see https://opentelemetry.io/docs/specs/otlp/#otlphttp
 */
export function otlpReceiver(parts: ReceiverParts): Router {
  const router = new Router({ prefix: '/otlp/v1', sensitive: true })
  const types = Object.values(CONTENT_TYPES)
  const arriving = createArriving({
    shares: createShares(MOST_ARRIVING),
    types,
    most: MOST_PACKED,
    rate: RATE,
    grace: GRACE,
  })
  router.use(refuseInItsFormat)
  router.use(requireSatellite(parts.environments, parts.environmentTokens, parts.audit))
  for (const signal of SIGNALS) router.post(`/${signal}`, (ctx) => receive(ctx, signal))
  return router

  async function receive(ctx: Context, signal: Signal): Promise<void> {
    const format = formatOf(ctx)
    const isZipped = isZippedIn(ctx)
    const environment = environmentOf(ctx)
    const read = await arriving.read(ctx, environment, (bytes) =>
      parts.telemetry.read(environment, { signal, format, isZipped, bytes }),
    )
    const { rejected, why } = await parts.telemetry.take(environment, read)
    ctx.status = 200
    ctx.type = CONTENT_TYPES[format]
    ctx.body = writeAnswer(signal, rejected, why, format)
  }
}

function isZippedIn(ctx: Context): boolean {
  const encoding = ctx.get('Content-Encoding').trim().toLowerCase()
  if (encoding === '' || encoding === 'identity') return false
  if (encoding === 'gzip') return true
  const given = encoding.slice(0, 100)
  throw new PlatformError('ERR_CONTENT_TYPE', `The Content-Encoding header must be gzip or absent, but is "${given}".`)
}

function formatOf(ctx: Context): Format {
  return ctx.is('application/x-protobuf') ? 'pb' : 'json'
}

/** Writes errors as a `Status` in the request's format. Errors without a gRPC code are handled in the default way. */
const refuseInItsFormat: Middleware = async (ctx, next) => {
  try {
    await next()
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    const status = statusOf(error)
    const code = CODES[status]
    if (code === undefined) throw error
    const format = formatOf(ctx)
    ctx.status = status
    ctx.type = CONTENT_TYPES[format]
    if (status === 408 || status === 429 || status === 503) ctx.set('Retry-After', String(AGAIN))
    // Close the connection. Otherwise, the unread rest of the body would be parsed as the next request.
    if (status === 408 || status === 413 || status === 429 || status === 503) ctx.set('Connection', 'close')
    ctx.body = writeStatus(code, error.message, format)
  }
}
