import { networkOf } from '../../base/http/network.ts'
import {
  endLargest,
  heldSlowly,
  MOST_HELD,
  type SlowConnection,
  type Unread,
} from '../../base/http/slow-connections.ts'
import type { Connection } from './connection.ts'

/** A browser that is connected to a client. `address` is its IP address. */
export type Browser = { readonly connection: Connection; readonly address: string }

/** Limits the memory for frames that browsers don't read. base/http/unread-answers.ts has the same limit for responses. */
export interface SlowBrowsers {
  /**
   * Call this about once a second. If the browsers that read too slowly have more than `MOST_HELD` unread characters in
   * total, those with the most are disconnected.
   */
  look(): void
  /** Call this for each frame. Disconnects browsers even before the next `look` if frames pile up too fast. */
  noteSent(characters: number): void
}

/**
 * Maximum unread characters of all browsers, even of those that read fast enough. Chosen here: if many browsers get a
 * form at the same time, none of them is disconnected yet. A character needs up to 2 bytes.
 */
const MOST_OF_ALL = 2 * MOST_HELD

/**
 * @param browsers returns all connected browsers
 * @param most the limits for slow browsers and for all browsers
 */
export function createSlowBrowsers(
  browsers: () => readonly Browser[],
  most = { slow: MOST_HELD, all: MOST_OF_ALL },
): SlowBrowsers {
  /** What each browser had left unread at the last look. */
  const before = new WeakMap<Connection, Unread>()
  /** The number of unread characters, assuming that browsers have read none since it was last calculated. */
  let atMost = 0

  function connections(heldOf: (connection: Connection) => number): SlowConnection[] {
    return browsers().flatMap(({ connection, address }) => {
      const held = heldOf(connection)
      return held === 0 ? [] : [{ network: networkOf(address), held, end: () => connection.terminate() }]
    })
  }

  function heldSinceLastLook(connection: Connection): number {
    const now = connection.unread()
    const last = before.get(connection)
    before.set(connection, now)
    return last === undefined ? 0 : heldSlowly(now, last)
  }

  function countAll(): SlowConnection[] {
    const all = connections((connection) => connection.unread().held)
    atMost = all.reduce((sum, { held }) => sum + held, 0)
    return all
  }

  return {
    look() {
      endLargest(connections(heldSinceLastLook), most.slow)
      countAll()
    },
    noteSent(characters) {
      atMost += characters
      if (atMost > most.all) endLargest(countAll(), most.all)
    },
  }
}
