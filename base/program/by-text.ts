/** Maximum characters of a cached text. Longer texts are not cached, because anyone can send one in a request. */
const LONGEST = 300

/**
 * Caches the results of a function without side effects. Use it if the argument is often the same, such as a header
 * from the same browser.
 * @param most the maximum number of texts in the cache, which is cleared when it is full
 */
export function cachedByText<T>(most: number, compute: (text: string) => T): (text: string) => T {
  const cache = new Map<string, T>()
  return (text) => {
    const known = cache.get(text)
    if (known !== undefined || cache.has(text)) return known as T
    const result = compute(text)
    if (text.length > LONGEST) return result
    if (cache.size >= most) cache.clear()
    cache.set(text, result)
    return result
  }
}

/**
 * Caches a value for each text, such as a prepared statement. Texts may have any length.
 * @param most the maximum number of texts in the cache; the least recently used are evicted first
 */
export function recentByText<T extends object>(most: number, create: (text: string) => T): (text: string) => T {
  const cache = new Map<string, T>()
  return (text) => {
    const value = cache.get(text) ?? create(text)
    cache.delete(text)
    cache.set(text, value)
    if (cache.size > most) cache.delete(cache.keys().next().value as string)
    return value
  }
}
