import type { Effects } from '../../base/bundles/host-call.ts'

/** Functions that a client's scripts scheduled (`application.executeLater`). */
export interface Timers {
  apply(effects: Pick<Effects, 'later' | 'cancelLater'>): void
  clear(): void
}

/** Maximum pending functions. The guest binding has the same limit, and throws an error above it. */
const MOST_PENDING = 100
/**
 * Rate limit: the number of functions that a client may run in a burst, and the number per second after that.
 * Otherwise, functions that reschedule themselves forever would slow down other clients, even with no browser
 * connected.
 */
const BURST = 100
const PER_SECOND = 10

/**
 * @param run called with the id assigned by the guest binding
 * @param now the clock, in ms
 */
export function createTimers(run: (id: number) => void, now: () => number = () => performance.now()): Timers {
  const timers = new Map<number, NodeJS.Timeout>()
  /** How many functions may run immediately. If it is negative, that many functions are waiting. */
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
