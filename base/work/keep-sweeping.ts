import type { Logger } from 'pino'
import { repeat } from './repeat.ts'

/** In ms, between two sweeps. */
const EVERY = 10 * 60_000

/** Has all parts delete their expired rows, periodically. @returns a function that stops it */
export function keepSweeping(
  parts: readonly { sweep(): Promise<unknown> }[],
  log: Pick<Logger, 'error'>,
): () => Promise<void> {
  return repeat(
    EVERY,
    () => Promise.all(parts.map((one) => one.sweep())),
    (error) => log.error({ stack: error.stack }, 'old rows could not be removed'),
  )
}
