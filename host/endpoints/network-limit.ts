import { networkOf } from '../../base/http/network.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'

/** Limits how many endpoint requests a network can send to this host. */
export interface NetworkLimit {
  /** @throws ERR_THROTTLED if the address's network has sent more than `REQUESTS_NETWORK` requests in this minute */
  count(address: string): void
  /**
   * Counts a request, and waits until it may start. A tenth of `REQUESTS_NETWORK` starts immediately. The others start
   * at a constant rate, at which the whole limit takes 6 s. Otherwise, the first requests of a flood would run at the
   * same time and delay sign-ins.
   * @throws ERR_THROTTLED like `count`
   */
  admit(address: string): Promise<void>
  /**
   * Counts a body as one more request for each further `BODY_UNIT` bytes, because reading its values takes as long as
   * many small requests. The network's next requests then start later.
   * @throws ERR_THROTTLED like `count`
   */
  countBody(address: string, bytes: number): void
  /** Returns the error that `count` would throw, or null if it would throw none. Counts no request. */
  refusal(address: string): PlatformError | null
  /**
   * Runs `read` unless the network is already sending `MOST_BODIES` bodies.
   * @throws ERR_THROTTLED
   */
  reading<T>(address: string, read: () => Promise<T>): Promise<T>
}

/** The window in which requests are counted, in ms. */
const WINDOW = 60_000
/** Maximum number of networks with a separate counter. All further networks share one. */
const MOST_NETWORKS = 100_000
/** Maximum number of bodies that one network may send at the same time. They are read before the caller is known. */
const MOST_BODIES = 64
/** A body with this many bytes takes about as long as a request without a body. */
const BODY_UNIT = 64 * 1024
/** A body counts at most as this share of the limit. Otherwise, a large one would never be accepted. */
const LARGEST_BODY = 1 / 4
/** Time in ms over which requests are spread if a network uses its whole limit. */
const SPREAD = 6000
/** The fraction of a network's limit that may start immediately. */
const IMMEDIATE = 0.1

/** `due` is when the network's next request may start, not counting the requests that may start immediately. */
type Sent = { count: number; due: number }

/** @param now the clock, in ms; it may go back */
export function createNetworkLimit(
  { REQUESTS_NETWORK: most }: Pick<Limits, 'REQUESTS_NETWORK'>,
  now: () => number = Date.now,
): NetworkLimit {
  const sent = new Map<string, Sent>()
  const bodies = new Map<string, number>()
  let endsAt = 0
  /**
   * The last error. It is reused during a flood, because creating an error with its stack takes a tenth of a request's
   * time.
   */
  let last: { readonly retryAfter: number; readonly error: PlatformError } | null = null

  function throttled(seconds: number): PlatformError {
    const retryAfter = Math.max(1, Math.ceil(seconds))
    if (last?.retryAfter !== retryAfter) last = { retryAfter, error: throttledFor(retryAfter) }
    return last.error
  }

  function keyOf(address: string): string {
    // If the clock was set back, the window would end too late.
    if (now() >= endsAt || endsAt - now() > WINDOW) {
      sent.clear()
      endsAt = now() + WINDOW
    }
    const network = networkOf(address)
    return sent.has(network) || sent.size < MOST_NETWORKS ? network : ''
  }

  function counted(address: string, requests = 1): Sent {
    const key = keyOf(address)
    const one = sent.get(key) ?? { count: 0, due: 0 }
    sent.set(key, one)
    one.count += requests
    if (one.count > most) throw throttled((endsAt - now()) / 1000)
    return one
  }

  return {
    count(address) {
      counted(address)
    },
    async admit(address) {
      const one = counted(address)
      // No request waits longer than SPREAD, even if the clock was set back.
      const due = Math.min(Math.max(one.due, now()), now() + SPREAD)
      one.due = due + SPREAD / most
      const left = due - IMMEDIATE * SPREAD - now()
      if (left > 0) await new Promise((resolve) => setTimeout(resolve, left))
    },
    countBody(address, bytes) {
      const further = Math.floor(Math.min(bytes / BODY_UNIT, most * LARGEST_BODY))
      if (further > 0) counted(address, further).due += (further * SPREAD) / most
    },
    refusal(address) {
      return (sent.get(keyOf(address))?.count ?? 0) < most ? null : throttled((endsAt - now()) / 1000)
    },
    async reading(address, read) {
      const network = networkOf(address)
      const open = bodies.get(network) ?? 0
      if (open >= MOST_BODIES) throw throttled(1)
      bodies.set(network, open + 1)
      try {
        return await read()
      } finally {
        const left = (bodies.get(network) ?? 1) - 1
        if (left === 0) bodies.delete(network)
        else bodies.set(network, left)
      }
    },
  }
}

function throttledFor(retryAfter: number): PlatformError {
  return new PlatformError(
    'ERR_THROTTLED',
    `Too many requests from this network (limit: REQUESTS_NETWORK). Try again in ${retryAfter} s.`,
    { retryAfter },
  )
}
