import { setTimeout } from 'node:timers/promises'

/** Limits how much of the main thread's time a client's scripts can use, for example to sort tables. */
export interface MainThreadShare {
  /** Does the work, and counts its time. */
  spend<T>(work: () => T): T
  /** Call this before the work for a call's effects. @returns once the client may use the main thread again */
  ready(): Promise<void>
}

/**
 * After expensive work, the client waits for this many times as long.
 *
 * Chosen here: a client gets at most a quarter of the main thread, and users don't notice the wait after sorting one
 * table of 10,000 rows.
 */
const REST = 3
/** Time in ms. Cheaper work isn't counted, so that the usual clients never wait. */
const CHEAP = 5
/** Time in ms. No wait is longer, because a client that ends must wait too. */
const LONGEST_REST = 3000

type Clock = { readonly now: () => number; readonly wait: (ms: number) => Promise<void> }

/** @param clock replaced in tests */
export function createMainThreadShare(
  { now, wait }: Clock = { now: () => performance.now(), wait: setTimeout },
): MainThreadShare {
  let readyAt = 0
  return {
    spend(work) {
      const start = now()
      try {
        return work()
      } finally {
        const end = now()
        const spent = end - start
        if (spent >= CHEAP) readyAt = Math.min(Math.max(readyAt, end) + spent * REST, end + LONGEST_REST)
      }
    },
    async ready() {
      const rest = readyAt - now()
      if (rest > 0) await wait(rest)
    },
  }
}
