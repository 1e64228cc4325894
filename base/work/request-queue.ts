import { setImmediate } from 'node:timers/promises'
import type { Logger } from 'pino'

/**
 * Password reset requests, which anyone can send. The response is sent before they are processed, so that neither the
 * response nor its timing reveals which accounts exist.
 */
export interface RequestQueue<Request> {
  /** Adds a request. If the queue is full, the request is dropped, and the user can send it again. */
  take(request: Request): void
  /** Resolves when all queued requests have been processed. */
  settle(): Promise<void>
}

const MOST_WAITING = 200

/** @param work processes a request; never called in parallel */
export function createRequestQueue<Request>(
  work: (request: Request) => Promise<void>,
  log: Pick<Logger, 'warn'>,
): RequestQueue<Request> {
  let waiting = 0
  let running: Promise<unknown> = Promise.resolve()

  return {
    take(request) {
      if (waiting >= MOST_WAITING) {
        log.warn({ waiting }, 'a password reset request was dropped because too many are waiting')
        return
      }
      waiting++
      // Wait until the response has been sent, because database queries block this thread with the embedded database.
      running = running
        .then(() => setImmediate())
        .then(() => work(request))
        .catch((error: Error) => log.warn({ stack: error.stack }, 'a password reset request failed'))
        .finally(() => waiting--)
    },
    settle: async () => void (await running),
  }
}
