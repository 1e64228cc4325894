import { PlatformError } from '../../runtime/errors.ts'

/** Runs `work` and records how it ended, also when it is refused. Errors without a code are left to the platform's log. */
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
