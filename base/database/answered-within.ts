import { PlatformError } from '../../runtime/errors.ts'
import { inTime } from '../program/in-time.ts'

/** Timeout in ms for a short database query during a browser request. */
export const SHORT_ANSWER = 4000

/** Retry-After in seconds, sent when the database is unreachable. */
const RETRY_AFTER = 5

/**
 * Rejects if the database does not respond in time, because a server that hangs or has become unreachable returns no
 * error. The query is not cancelled and may still take effect, so the caller must be able to repeat it safely.
 * @throws ERR_DATABASE_UNREACHABLE
 */
export function answeredWithin<T>(milliseconds: number, answer: Promise<T>): Promise<T> {
  return inTime(milliseconds, answer, () => unanswered(milliseconds))
}

function unanswered(milliseconds: number): PlatformError {
  return new PlatformError(
    'ERR_DATABASE_UNREACHABLE',
    `The database has not responded for ${milliseconds / 1000} s. Check whether its server is overloaded or unreachable.`,
    { retryAfter: RETRY_AFTER },
  )
}
