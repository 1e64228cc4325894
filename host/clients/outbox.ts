import type { HostFrame } from '../web/frames.ts'
import type { Connection } from './connection.ts'

/** What goes to the browser that looks at a client, or waits for it to come back. */
export interface Outbox {
  /** Null while no browser looks. */
  readonly connection: Connection | null
  /** Without a browser what is said only once is kept; everything else its form will show. */
  send(...frames: readonly HostFrame[]): void
  /** Sends what was kept too, after the `first` frame. */
  attach(connection: Connection, first: HostFrame): void
  detach(): void
}

/** What a browser that is away must not miss. */
const KEPT: readonly HostFrame['kind'][] = ['message', 'go', 'reopened']
/** Frames that are kept for it. */
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
