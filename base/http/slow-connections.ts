/** A connection whose peer reads its responses slowly. */
export type SlowConnection = {
  /** The peer's network; null for a trusted proxy, because many clients share its address. */
  readonly network: string | null
  /** The size, in bytes, of the responses that the peer hasn't read yet. */
  readonly held: number
  readonly end: () => void
}

/** Maximum total bytes of unread responses on all slow connections of one server. */
export const MOST_HELD = 64 * 1024 ** 2

/** What a peer has left unread (`held`) and what it has read (`taken`), in bytes or characters. */
export type Unread = { readonly held: number; readonly taken: number }

/** A peer that reads less than this between two checks is slow. */
const SLOW = 12 * 1024

/** Returns how much the peer has left unread since the last check; 0 if it reads fast enough. */
export function heldSlowly(now: Unread, last: Unread): number {
  return now.taken - last.taken < SLOW ? Math.min(now.held, last.held) : 0
}

/**
 * Closes slow connections until those that remain have at most `most` unread bytes in total. Starts with those that
 * have the most.
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
