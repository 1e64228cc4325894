import { PlatformError } from '../../runtime/errors.ts'
import { type EarlyAnswer, earlyAnswer } from './early-answer.ts'

/**
 * Reports that a request's headers are too large, before the rest of the request is read.
 * @param most for example "16384 bytes"
 */
export function headersTooLarge(most: string): EarlyAnswer {
  return earlyAnswer(
    new PlatformError(
      'ERR_HEADERS_TOO_LARGE',
      `The URL and headers of this request are larger than ${most}. Send fewer or shorter headers. In a browser, delete the cookies of this site.`,
    ),
  )
}
