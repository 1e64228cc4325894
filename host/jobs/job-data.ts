import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'

/**
 * Converts a run's data to JSON; returns null if there is none.
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
