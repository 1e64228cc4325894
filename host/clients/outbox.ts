import type { HostFrame } from '../web/frames.ts'
import type { Connection } from './connection.ts'

/** Sends frames to a client's browser, or stores them until it reconnects. */
export interface Outbox {
  /** Null while no browser is connected. */
  readonly connection: Connection | null
  /**
   * Sends frames. While no browser is connected, stores the frames that the browser needs later. It doesn't need the
   * others, because it gets the whole form when it reconnects.
   */
  send(...frames: readonly HostFrame[]): void
  /** Sends the `first` frame, then the stored ones. */
  attach(connection: Connection, first: HostFrame): void
  detach(): void
}

/** Frames that a browser must receive after it reconnects. */
const KEPT: readonly HostFrame['kind'][] = ['message', 'go', 'reopened', 'leaving']
const MOST_KEPT = 20

export function createOutbox(): Outbox {
  const kept: HostFrame[] = []
  let connection: Connection | null = null
  return {
    get connection() {
      return connection
    },
    send(...frames) {
      for (const frame of frames) {
        if (connection !== null) connection.send(frame)
        else if (KEPT.includes(frame.kind) && kept.length < MOST_KEPT) kept.push(frame)
      }
    },
    attach(next, first) {
      connection = next
      for (const frame of [first, ...kept.splice(0)]) next.send(frame)
    },
    detach() {
      connection = null
    },
  }
}
