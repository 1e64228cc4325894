/** Satellites waiting for a newer statement of their environment. One database query serves all of them. */
export interface Waiting {
  /**
   * Resolves when there may be a statement above `after`, when `patience` ends, when `signal` aborts, or when the
   * service stops. The caller then checks for itself.
   * @param patience in ms
   */
  wait(environment: string, after: number, patience: number, signal: AbortSignal): Promise<void>
  /** There is a new statement: wakes the Satellites that wait for it. */
  changed(environment: string, number: number): void
  /** Wakes all waiting Satellites; later calls of `wait` return immediately. */
  stop(): void
}

/** Polling interval in ms while a Satellite waits: other processes on the same database change states too. */
const LOOK_EVERY = 1000

/**
 * Per environment, so that a token can't hold open any number of requests. Beyond that, the oldest request is answered,
 * and its Satellite asks again.
 */
const MOST_WAITING = 100

type Waiter = { readonly after: number; readonly wake: () => void }

/** @param numbers queries all environments in the database; retried if it fails */
export function createWaiting(
  numbers: () => Promise<ReadonlyMap<string, number>>,
  lookEvery: number = LOOK_EVERY,
): Waiting {
  const waiters = new Map<string, Set<Waiter>>()
  let timer: NodeJS.Timeout | null = null
  let isStopped = false

  function changed(environment: string, number: number): void {
    for (const waiter of waiters.get(environment) ?? []) if (number > waiter.after) waiter.wake()
  }

  async function look(): Promise<void> {
    try {
      for (const [environment, number] of await numbers()) changed(environment, number)
    } catch {
      // The database is unreachable: requests that time out query it themselves and report the error.
    }
    timer = null
    lookLater()
  }

  function lookLater(): void {
    if (timer !== null || isStopped || waiters.size === 0) return
    timer = setTimeout(() => void look(), lookEvery)
    timer.unref()
  }

  return {
    async wait(environment, after, patience, signal) {
      if (isStopped || signal.aborted) return
      const { promise, resolve } = Promise.withResolvers<void>()
      const wake = () => resolve()
      const waiter = { after, wake }
      const ofEnvironment = waiters.get(environment) ?? new Set()
      const [oldest] = ofEnvironment
      if (oldest !== undefined && ofEnvironment.size >= MOST_WAITING) {
        ofEnvironment.delete(oldest)
        oldest.wake()
      }
      waiters.set(environment, ofEnvironment.add(waiter))
      const timeout = setTimeout(wake, patience)
      timeout.unref()
      signal.addEventListener('abort', wake, { once: true })
      lookLater()
      await promise
      clearTimeout(timeout)
      signal.removeEventListener('abort', wake)
      ofEnvironment.delete(waiter)
      if (ofEnvironment.size === 0 && waiters.get(environment) === ofEnvironment) waiters.delete(environment)
    },
    changed,
    stop() {
      isStopped = true
      if (timer !== null) clearTimeout(timer)
      for (const ofEnvironment of waiters.values()) for (const { wake } of ofEnvironment) wake()
    },
  }
}
