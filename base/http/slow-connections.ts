/** A connection whose peer reads its responses slowly. */
export type SlowConnection = {
  /** Null for a trusted proxy, since anyone may be behind it. */
  readonly network: string | null
  /** The size of its unread responses, in bytes. */
  readonly held: number
  readonly end: () => void
}

/** Maximum total bytes of unread responses on all slow connections of one server. */
export const MOST_HELD = 64 * 1024 ** 2

/**
 * Closes slow connections, those with the most unread bytes first, until the others have at most `most` bytes in total.
 */
export function endLargest(slow: readonly SlowConnection[], most: number): void {
  let held = slow.reduce((sum, one) => sum + one.held, 0)
  if (held <= most) return
  const ofNetwork = new Map<string | null, number>()
  for (const one of slow) ofNetwork.set(one.network, (ofNetwork.get(one.network) ?? 0) + one.held)
  // Start with the network that has the most unread bytes. The networks of a proxy's clients are unknown, so each of
  // its connections is treated as a separate network.
  const weight = (one: SlowConnection) => (one.network === null ? one.held : (ofNetwork.get(one.network) ?? one.held))
  for (const one of slow.toSorted((a, b) => weight(b) - weight(a) || b.held - a.held)) {
    if (held <= most) return
    held -= one.held
    one.end()
  }
}
