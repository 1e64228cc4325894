import { repeat } from '../../base/work/repeat.ts'

/**
 * Satellites that wait for a newer statement for their environment (long polling). One database query serves all of
 * them.
 */
export interface Waiting {
  /**
   * Resolves when there may be a statement with a higher number than `after`, which the caller must then check. Also
   * resolves when `patience` ms have passed, when `signal` aborts, or when the service stops.
   * @param patience in ms
   */
  wait(environment: string, after: number, patience: number, signal: AbortSignal): Promise<void>
  /** Wakes the Satellites that wait for a new statement. Call this after one was stored. */
  changed(environment: string, number: number): void
  /** Wakes all waiting Satellites; later calls of `wait` return immediately. */
  stop(): void
}

/** Polling interval in ms while Satellites wait, to notice changes by other processes on the same database. */
const POLL_EVERY = 1000

/**
 * Maximum waiting requests per environment. It limits how many connections a client with a token can keep open. If a
 * request exceeds this number, the oldest request gets its response early, and its Satellite sends a new one.
 */
const MOST_WAITING = 100

type Waiter = { readonly after: number; readonly wake: () => void }

/** @param numbers queries the sequence numbers of all environments in the database; retried if it fails */
export function createWaiting(
  numbers: () => Promise<ReadonlyMap<string, number>>,
  pollEvery: number = POLL_EVERY,
): Waiting {
  const waiters = new Map<string, Set<Waiter>>()
  let isStopped = false

  function changed(environment: string, number: number): void {
    for (const waiter of waiters.get(environment) ?? []) if (number > waiter.after) waiter.wake()
  }

  async function poll(): Promise<void> {
    if (waiters.size === 0) return
    for (const [environment, number] of await numbers()) changed(environment, number)
  }

  // Ignore errors here. Each waiting request queries the database again after its timeout, and reports any error.
  const stopPolling = repeat(pollEvery, poll, () => {})

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
      await promise
      clearTimeout(timeout)
      signal.removeEventListener('abort', wake)
      ofEnvironment.delete(waiter)
      if (ofEnvironment.size === 0 && waiters.get(environment) === ofEnvironment) waiters.delete(environment)
    },
    changed,
    stop() {
      isStopped = true
      void stopPolling()
      for (const ofEnvironment of waiters.values()) for (const { wake } of ofEnvironment) wake()
    },
  }
}
