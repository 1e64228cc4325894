import { PlatformError } from '../../runtime/errors.ts'
import { type EarlyAnswer, earlyAnswer } from './early-answer.ts'

/**
 * Reports that a request's headers are too large, before the rest of the request is read.
 * @param mostBytes maximum size of the URL and headers together
 * @param mostFields maximum number of header fields; null if it is not limited
 */
export function headersTooLarge(mostBytes: number, mostFields: number | null = null): EarlyAnswer {
  const count = mostFields === null ? '' : `, or there are more than ${mostFields} header fields`
  return earlyAnswer(
    new PlatformError(
      'ERR_HEADERS_TOO_LARGE',
      `The URL and headers of this request are larger than ${mostBytes} bytes${count}. Shorten the URL, or send fewer or shorter headers. In a browser, delete this site’s cookies.`,
    ),
  )
}
