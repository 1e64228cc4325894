/**
 * A cache for rows in the platform's database. Entries expire after 1 s, so changes on other hosts are visible within
 * that time.
 */
export interface BriefCache<T> {
  /** Concurrent callers share one read; a failed read is not cached. */
  get(key: string): Promise<T>
  /** The cached value; undefined if there is none, so `get` would query the database. */
  cached(key: string): T | undefined
  /** Call this after a change on this host. The next `get` then reads the row again. */
  forget(key: string): void
}

/** `known` is set when the read completes. */
type Reading<T> = { readonly value: Promise<T>; readonly until: number; known?: T }

/** Time to live in ms, measured from the start of the read. */
const HELD = 1000
/** If the cache has more entries than this, expired ones are removed. */
const MANY = 500

/** @param now the clock, in milliseconds */
export function createBriefCache<T>(read: (key: string) => Promise<T>, now: () => number = Date.now): BriefCache<T> {
  const held = new Map<string, Reading<T>>()

  function dropOld(): void {
    for (const [key, { until }] of held) if (until <= now()) held.delete(key)
  }

  function fresh(key: string) {
    const found = held.get(key)
    // If the clock was set back, the entry would be cached for too long.
    return found !== undefined && found.until > now() && found.until <= now() + HELD ? found : undefined
  }

  return {
    get(key) {
      const found = fresh(key)
      if (found !== undefined) return found.value
      if (held.size >= MANY) dropOld()
      const reading: Reading<T> = { value: read(key), until: now() + HELD }
      held.set(key, reading)
      reading.value.then(
        (value) => {
          reading.known = value
        },
        () => held.get(key) === reading && held.delete(key),
      )
      return reading.value
    },
    cached: (key) => fresh(key)?.known,
    forget: (key) => void held.delete(key),
  }
}
