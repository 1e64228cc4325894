import type { Logger } from 'pino'
import { repeat } from './repeat.ts'

/** Cleanup interval in ms. */
const EVERY = 10 * 60_000

/** Periodically deletes the expired rows of all parts. @returns a function that stops the cleanup */
export function keepSweeping(
  parts: readonly { sweep(): Promise<unknown> }[],
  log: Pick<Logger, 'error'>,
): () => Promise<void> {
  return repeat(
    EVERY,
    () => Promise.all(parts.map((one) => one.sweep())),
    (error) => log.error({ stack: error.stack }, 'expired rows could not be deleted'),
  )
}
