import { PlatformError } from '../../runtime/errors.ts'

/**
 * Runs `work` and records its outcome in the audit log, including rejections. Errors without a code appear only in the
 * platform's log.
 */
export async function recordOutcome<T>(
  work: () => T | Promise<T>,
  record: (outcome: string) => Promise<void>,
): Promise<T> {
  try {
    const done = await work()
    await record('ok')
    return done
  } catch (error) {
    if (error instanceof PlatformError) await record(error.code)
    throw error
  }
}
