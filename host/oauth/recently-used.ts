/** An LRU cache: when it is full, the least recently used value is removed. */
export interface RecentlyUsed<T> {
  get(key: string): T | undefined
  set(key: string, value: T): void
  delete(key: string): void
}

export function createRecentlyUsed<T>(most: number): RecentlyUsed<T> {
  /**
   * The least recently used entry comes first: `set` moves an entry to the end, and a Map keeps the insertion order.
   */
  const held = new Map<string, T>()

  function set(key: string, value: T): void {
    held.delete(key)
    held.set(key, value)
    for (const oldest of held.keys()) {
      if (held.size <= most) break
      held.delete(oldest)
    }
  }

  return {
    get(key) {
      const value = held.get(key)
      if (value !== undefined) set(key, value)
      return value
    },
    set,
    delete: (key) => void held.delete(key),
  }
}
