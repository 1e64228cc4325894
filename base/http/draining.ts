import type { Http2ServerRequest } from 'node:http2'
import type { Middleware } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import { finishesWithin } from '../program/in-time.ts'

/**
 * The steps of a shutdown. A draining host first reports that it isn't ready, so that load balancers send new work to
 * other hosts. It still serves all requests. Then it accepts no new connections, and finally no new requests.
 */
export interface Draining {
  /** Whether load balancers should send new work here. */
  isReady(): boolean
  /** Whether new requests are rejected because they couldn't finish in time. */
  isRefusing(): boolean
  /**
   * @param move called with the remaining ms when half of the time has passed. By then, load balancers have noticed
   * that this host is draining, so open clients and other long-lived work can move to another host.
   * @returns a promise that resolves when the time has passed or `hurry` was called
   */
  drain(move: (within: number) => void): Promise<void>
  /** Ends the wait in `drain`. */
  hurry(): void
}

/**
 * How long requests on open connections are still accepted after draining, in ms. They can finish within the shutdown's
 * grace period.
 */
const LAST_REQUESTS = 1000

/** @param time in ms, see `DRAIN_TIME`; 0 to stop without draining */
export function createDraining(time: number): Draining {
  let isReady = true
  let isRefusing = false
  const hurried = Promise.withResolvers<void>()
  return {
    isReady: () => isReady,
    isRefusing: () => isRefusing,
    async drain(move) {
      isReady = false
      if (time > 0) {
        await finishesWithin(time / 2, hurried.promise)
        move(time / 2)
        await finishesWithin(time / 2, hurried.promise)
      }
      setTimeout(() => {
        isRefusing = true
      }, LAST_REQUESTS).unref()
    },
    hurry: () => hurried.resolve(),
  }
}

/**
 * Closes keep-alive connections with their next response, so that clients don't send a request on a closing connection.
 */
export function endKeptConnections({ isReady }: Pick<Draining, 'isReady'>): Middleware {
  return (ctx, next) => {
    if (isReady()) return next()
    if (ctx.req.httpVersionMajor === 1) ctx.set('Connection', 'close')
    // On HTTP/2, this tells the client that no further requests are accepted (RFC 9113, section 6.8). Requests in
    // progress still get a response.
    else (ctx.req as typeof ctx.req & Pick<Http2ServerRequest, 'stream'>).stream.session?.close()
    return next()
  }
}

/**
 * @throws ERR_STOPPING for requests that couldn't finish in time; by then, load balancers send almost all requests to
 * other hosts
 */
export function refuseWhileStopping({ isRefusing }: Pick<Draining, 'isRefusing'>): Middleware {
  return (_ctx, next) => {
    if (isRefusing())
      throw new PlatformError('ERR_STOPPING', 'The host is stopping. Try again in a few seconds.', { retryAfter: 5 })
    return next()
  }
}
