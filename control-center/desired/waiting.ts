/** Satellites that wait for a newer statement of their environment. However many wait, the database is asked once for all. */
export interface Waiting {
  /**
   * Resolves when there may be a statement above `after`, when the time is over, when `signal` aborts, or at the stop of the
   * service; whoever waited looks by himself.
   * @param patience in ms
   */
  wait(environment: string, after: number, patience: number, signal: AbortSignal): Promise<void>
  /** There is a new statement: those who wait for it go on at once. */
  changed(environment: string, number: number): void
  /** Nobody waits any longer, now or later. */
  stop(): void
}

/** Other processes on the same database change it too: it is looked at so often while somebody waits, in ms. */
const LOOK_EVERY = 1000

/**
 * Of one environment, so that whoever has its token cannot hold any number of requests: whoever waited longest goes on, and
 * asks again.
 */
const MOST_WAITING = 100

type Waiter = { readonly after: number; readonly goOn: () => void }

/** @param numbers asks the database, of all environments at once; one that fails is asked again */
export function createWaiting(
  numbers: () => Promise<ReadonlyMap<string, number>>,
  lookEvery: number = LOOK_EVERY,
): Waiting {
  const waiters = new Map<string, Set<Waiter>>()
  let timer: NodeJS.Timeout | null = null
  let isStopped = false

  function wake(environment: string, number: number): void {
    for (const waiter of waiters.get(environment) ?? []) if (number > waiter.after) waiter.goOn()
  }

  async function look(): Promise<void> {
    try {
      for (const [environment, number] of await numbers()) wake(environment, number)
    } catch {
      // The database is away: those who wait ask it themselves when their time is over, and are told.
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
      const goOn = () => resolve()
      const waiter = { after, goOn }
      const ofEnvironment = waiters.get(environment) ?? new Set()
      const [oldest] = ofEnvironment
      if (oldest !== undefined && ofEnvironment.size >= MOST_WAITING) {
        ofEnvironment.delete(oldest)
        oldest.goOn()
      }
      waiters.set(environment, ofEnvironment.add(waiter))
      const timeout = setTimeout(goOn, patience)
      timeout.unref()
      signal.addEventListener('abort', goOn, { once: true })
      lookLater()
      await promise
      clearTimeout(timeout)
      signal.removeEventListener('abort', goOn)
      ofEnvironment.delete(waiter)
      if (ofEnvironment.size === 0 && waiters.get(environment) === ofEnvironment) waiters.delete(environment)
    },
    changed: wake,
    stop() {
      isStopped = true
      if (timer !== null) clearTimeout(timer)
      for (const ofEnvironment of waiters.values()) for (const { goOn } of ofEnvironment) goOn()
    },
  }
}
