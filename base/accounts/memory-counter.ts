/**
 * A counter's state. `expires_at` is in epoch ms. The names are the same as the column names of the table `throttle`.
 */
export type Counted = { readonly points: number; readonly expires_at: number }

/** Counts attempts by key. A key's count expires a fixed time after its first attempt. */
export interface Counter {
  /** Adds the points, and returns the new state. */
  add(key: string, points: number): Counted | Promise<Counted>
}

export interface MemoryCounter extends Counter {
  add(key: string, points: number): Counted
  readonly size: () => number
}

/**
 * Creates counters in this process's memory. Every sign-in uses several, so they avoid promises and timers. All have
 * the same lifetime, so the oldest expire first. Adding a counter removes up to two expired ones.
 * @param duration in ms
 * @param now returns the current time in epoch ms
 */
export function createMemoryCounter(duration: number, now: () => number = Date.now): MemoryCounter {
  /** Sorted by expiry: new keys are added at the end. */
  const counters = new Map<string, Counted>()

  function removeExpired(): void {
    let most = 2
    for (const [key, { expires_at }] of counters) {
      if (expires_at > now() || most-- === 0) return
      counters.delete(key)
    }
  }

  return {
    add(key, points) {
      const known = counters.get(key)
      if (known !== undefined && known.expires_at > now()) {
        const counted = { points: known.points + points, expires_at: known.expires_at }
        // Setting a new value for an existing key doesn't move the key to the end of the map.
        counters.set(key, counted)
        return counted
      }
      counters.delete(key)
      removeExpired()
      const counted = { points, expires_at: now() + duration }
      counters.set(key, counted)
      return counted
    },
    size: () => counters.size,
  }
}
