import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

export type Ask = ReturnType<typeof createQuestions>['ask']

/** Requests of the running test to the host. */
export function createQuestions(api: Pick<GuestApi, 'request' | 'safe'>) {
  /** Unanswered requests; each Error was created where the request was made. */
  let pending: Error[] = []

  /** @param what named in the error for a test that does not await it */
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
    /** Forgets the requests of the last test. */
    forget() {
      pending = []
    },
    unanswered: (): Error | null => pending[0] ?? null,
  }
}

/** The error with the stack of `at`. */
export function moved(error: unknown, at: Error): Error {
  const { name, message } = error as Error
  at.name = name
  at.message = message
  return at
}
