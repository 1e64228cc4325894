import type { Logger } from 'pino'
import { repeat } from './repeat.ts'

/** Old rows are looked for this often, in ms. */
const EVERY = 10 * 60_000

/** Has each part that keeps rows for a time remove the old ones, again and again. @returns what ends it */
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
