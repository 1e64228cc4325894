import type { Http2ServerRequest } from 'node:http2'
import type { Middleware } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'

/**
 * The steps of a host's end. While it drains it is not ready and serves everything, so that balancers lead new work to
 * another host before this one takes none; then it takes no new connections, and in the end no new requests.
 */
export interface Draining {
  /** Whether new work should be led here. */
  isReady(): boolean
  /** Whether a request that comes now could not end in time. */
  isRefusing(): boolean
  /**
   * @param move is called once half of the time is over, with the ms that are left: what lives longer than a request
   *   moves to another host now, since by then balancers know
   * @returns when the time is over, or `hurry` was called
   */
  drain(move: (within: number) => void): Promise<void>
  /** Whoever waits waits no longer. */
  hurry(): void
}

/** Requests on connections that were open before are taken for so many ms after draining: these can end within the stop's grace. */
const LAST_REQUESTS = 1000

/** @param time in ms, see `DRAIN_TIME`; 0: whoever stops the host wants it gone */
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
        await passed(time / 2, hurried.promise)
        move(time / 2)
        await passed(time / 2, hurried.promise)
      }
      setTimeout(() => {
        isRefusing = true
      }, LAST_REQUESTS).unref()
    },
    hurry: () => hurried.resolve(),
  }
}

/** Kept connections end with their next answer: nobody asks over one that is about to be closed. */
export function endKeptConnections({ isReady }: Pick<Draining, 'isReady'>): Middleware {
  return (ctx, next) => {
    if (isReady()) return next()
    if (ctx.req.httpVersionMajor === 1) ctx.set('Connection', 'close')
    // Tells that no further request is taken (RFC 9113, section 6.8); those that are under way are answered.
    else (ctx.req as typeof ctx.req & Pick<Http2ServerRequest, 'stream'>).stream.session?.close()
    return next()
  }
}

/** @throws ERR_STOPPING for what comes too late to end in time; by then balancers have led all but a few elsewhere */
export function refuseWhileStopping({ isRefusing }: Pick<Draining, 'isRefusing'>): Middleware {
  return (_ctx, next) => {
    if (isRefusing()) throw new PlatformError('ERR_STOPPING', 'The host is stopping.', { retryAfter: 5 })
    return next()
  }
}

async function passed(milliseconds: number, hurried: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, milliseconds)
  await Promise.race([promise, hurried])
  clearTimeout(timer)
}
