import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

export type Ask = ReturnType<typeof createQuestions>['ask']

/** Requests that the running test sends to the host. */
export function createQuestions(api: Pick<GuestApi, 'request' | 'safe'>) {
  /** Pending requests. Each Error was created where the request was made, for its stack. */
  let pending: Error[] = []

  /** @param what the action's name, for the error message if a test does not await it */
  async function ask<T>(method: string, args: readonly unknown[], what: string): Promise<T> {
    const at = new api.safe.Error()
    at.message = `the test ended before ${what} did: write "await ${what}(…)"`
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

/** The error, with the stack of `at`. */
export function moved(error: unknown, at: Error): Error {
  const { name, message } = error as Error
  at.name = name
  at.message = message
  return at
}
