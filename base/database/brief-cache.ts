/** What was read of the platform's database, held so short that a change on another host counts within 1 s. */
export interface BriefCache<T> {
  /** Callers at the same time share one reading; one that fails is not kept. */
  get(key: string): Promise<T>
  /** After a change here: the next `get` reads anew. */
  forget(key: string): void
}

/** How long a value is held, in ms, from the moment that its reading began. */
const HELD = 1000
/** Above so many values, those whose time is over are let go. */
const MANY = 500

/** @param now the clock, in milliseconds */
export function createBriefCache<T>(read: (key: string) => Promise<T>, now: () => number = Date.now): BriefCache<T> {
  const held = new Map<string, { readonly value: Promise<T>; readonly until: number }>()

  function dropOld(): void {
    for (const [key, { until }] of held) if (until <= now()) held.delete(key)
  }

  return {
    get(key) {
      const found = held.get(key)
      if (found !== undefined && found.until > now()) return found.value
      if (held.size >= MANY) dropOld()
      const reading = { value: read(key), until: now() + HELD }
      held.set(key, reading)
      reading.value.catch(() => held.get(key) === reading && held.delete(key))
      return reading.value
    },
    forget: (key) => void held.delete(key),
  }
}
