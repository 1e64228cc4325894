import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

export type Ask = ReturnType<typeof createQuestions>['ask']

/** Sends the running test's requests to the host, and tracks those that are pending. */
export function createQuestions(api: Pick<GuestApi, 'request' | 'safe'>) {
  /** An Error for each pending request, created when the request was sent. Its stack shows the line of the test. */
  let pending: Error[] = []

  /**
   * Sends a request to the host.
   * @param what the action's name. It appears in the error message if the test doesn't await the action.
   */
  async function ask<T>(method: string, args: readonly unknown[], what: string): Promise<T> {
    const at = new api.safe.Error()
    at.message = `the test ended before ${what} finished: write "await ${what}(…)"`
    pending.push(at)
    try {
      return (await api.request(method, args)) as T
    } catch (error) {
      throw moved(error, at)
    } finally {
      pending = pending.filter((one) => one !== at)
    }
  }

  return {
    ask,
    /** Discards the previous test's requests. */
    forget() {
      pending = []
    },
    unanswered: (): Error | null => pending[0] ?? null,
  }
}

/** Returns `at` with the name and message of `error`. Its stack shows where the test sent the request. */
export function moved(error: unknown, at: Error): Error {
  const { name, message } = error as Error
  at.name = name
  at.message = message
  return at
}
