import { setImmediate } from 'node:timers/promises'
import type { Logger } from 'pino'

/**
 * Requests for a new password, which anybody can send. They are answered before they are looked at, so that neither the answer
 * nor its time tells who exists.
 */
export interface RequestQueue<Request> {
  /** Beyond what waits already it is dropped: whoever asks can ask again. */
  take(request: Request): void
  /** Resolves when all that were taken are done. */
  settle(): Promise<void>
}

const MOST_WAITING = 200

/** @param work called for one after the other */
export function createRequestQueue<Request>(
  work: (request: Request) => Promise<void>,
  log: Pick<Logger, 'warn'>,
): RequestQueue<Request> {
  let waiting = 0
  let running: Promise<unknown> = Promise.resolve()

  return {
    take(request) {
      if (waiting >= MOST_WAITING) {
        log.warn({ waiting }, 'a request for a new password was dropped: too many wait')
        return
      }
      waiting++
      // The embedded database works in this thread: not before the answer is out.
      running = running
        .then(() => setImmediate())
        .then(() => work(request))
        .catch((error: Error) => log.warn({ stack: error.stack }, 'a request for a new password failed'))
        .finally(() => waiting--)
    },
    settle: async () => void (await running),
  }
}
