/** A connection whose peer reads its responses slowly. */
export type SlowConnection = {
  /** Null: a trusted proxy, since anyone may be behind it. */
  readonly network: string | null
  /** The size of its unread responses, in bytes. */
  readonly held: number
  readonly end: () => void
}

/** The most bytes of unread responses that all slow connections of one server may hold. */
export const MOST_HELD = 64 * 1024 ** 2

/** Closes the connections that hold most until the rest holds at most `most` bytes. */
export function endLargest(slow: readonly SlowConnection[], most: number): void {
  let held = slow.reduce((sum, one) => sum + one.held, 0)
  if (held <= most) return
  const ofNetwork = new Map<string | null, number>()
  for (const one of slow) ofNetwork.set(one.network, (ofNetwork.get(one.network) ?? 0) + one.held)
  // The networks that hold most come first. Connections behind a proxy can't be told apart: each counts as a separate
  // network.
  const weight = (one: SlowConnection) => (one.network === null ? one.held : (ofNetwork.get(one.network) ?? one.held))
  for (const one of slow.toSorted((a, b) => weight(b) - weight(a) || b.held - a.held)) {
    if (held <= most) return
    held -= one.held
    one.end()
  }
}
