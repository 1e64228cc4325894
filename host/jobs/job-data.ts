import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'

/**
 * Converts the data of a run to the form in which it is stored: JSON, or null if there is no data.
 * @throws ERR_BODY_TOO_LARGE
 */
export function jobDataText(data: unknown, limits: Pick<Limits, 'JOB_DATA'>): string | null {
  const text = data === undefined || data === null ? null : JSON.stringify(data)
  if (text !== null && Buffer.byteLength(text) > limits.JOB_DATA) {
    throw new PlatformError(
      'ERR_BODY_TOO_LARGE',
      `The run’s data is larger than ${limits.JOB_DATA} bytes, the maximum that JOB_DATA allows.`,
    )
  }
  return text
}
