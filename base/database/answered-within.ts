import { PlatformError } from '../../runtime/errors.ts'

/** What a request of a browser waits for a short answer of the database, in ms. */
export const SHORT_ANSWER = 4000

/** Who was told that the database is away may ask again after this long, in seconds. */
const RETRY_AFTER = 5

/**
 * The answer of the database, if it comes in time: a server that stands still, or that the network lost, refuses nothing
 * and says nothing. What was asked goes on and is not waited for, so it must be harmless twice.
 * @throws ERR_DATABASE_UNREACHABLE
 */
export async function answeredWithin<T>(milliseconds: number, answer: Promise<T>): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(unanswered(milliseconds)), milliseconds)
  try {
    return await Promise.race([answer, tooLate])
  } finally {
    clearTimeout(timer)
  }
}

function unanswered(milliseconds: number): PlatformError {
  return new PlatformError(
    'ERR_DATABASE_UNREACHABLE',
    `The database has not answered for ${milliseconds / 1000} s. See whether its server is overloaded or cut off.`,
    { retryAfter: RETRY_AFTER },
  )
}
