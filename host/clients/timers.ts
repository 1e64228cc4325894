import type { Effects } from '../../base/bundles/host-call.ts'

/** What a client's scripts want to run later (`application.executeLater`). */
export interface Timers {
  apply(effects: Pick<Effects, 'later' | 'cancelLater'>): void
  clear(): void
}

/** As the binding has it, which refuses more by name. */
const MOST_PENDING = 100
/**
 * Functions that a client may run in quick succession, and how many more each second. Those that ask for themselves again
 * without end would take from others what they take of the host, also while nobody looks at them.
 */
const BURST = 100
const PER_SECOND = 10

/**
 * @param run called with the number that the script's binding gave it
 * @param now in milliseconds
 */
export function createTimers(run: (id: number) => void, now: () => number = () => performance.now()): Timers {
  const timers = new Map<number, NodeJS.Timeout>()
  /** Below 0: so many wait for their turn. */
  let allowance = BURST
  let last = now()

  function cancel(id: number): void {
    clearTimeout(timers.get(id))
    timers.delete(id)
  }

  function start(id: number, milliseconds: number, then: () => void): void {
    timers.set(id, setTimeout(then, milliseconds).unref())
  }

  function due(id: number): void {
    const more = ((now() - last) / 1000) * PER_SECOND
    allowance = Math.max(-MOST_PENDING, Math.min(BURST, allowance + more) - 1)
    last = now()
    if (allowance >= 0) runNow(id)
    else start(id, (-allowance / PER_SECOND) * 1000, () => runNow(id))
  }

  function runNow(id: number): void {
    timers.delete(id)
    run(id)
  }

  return {
    apply({ later = [], cancelLater = [] }) {
      for (const { id, milliseconds } of later) {
        cancel(id)
        if (timers.size >= MOST_PENDING) break
        start(id, milliseconds, () => due(id))
      }
      for (const id of cancelLater) cancel(id)
    },
    clear() {
      for (const id of [...timers.keys()]) cancel(id)
    },
  }
}
