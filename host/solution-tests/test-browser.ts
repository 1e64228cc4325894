import { ScriptError } from '../../runtime/plugin.ts'
import type { Connection } from '../clients/connection.ts'
import type { HostFrame } from '../web/frames.ts'

/** The test's side of the connection to a client, used instead of a browser. */
export interface TestBrowser {
  readonly connection: Connection
  /** Frames that tests can inspect later, oldest first. */
  readonly frames: readonly HostFrame[]
  /** The number of frames that the host has rejected. */
  readonly refused: () => number
  lastOf<Kind extends HostFrame['kind']>(kind: Kind): Frame<Kind> | undefined
  /** Resolves once the host has handled event `seq` or closed the connection. Event 0 opens the client. */
  untilIdle(seq: number): Promise<void>
  /** @throws ScriptError if the client has ended */
  needOpen(): void
  /** Call this when the test closes the client. Afterwards, `untilIdle` no longer waits for the host. */
  leave(): void
}

export type Frame<Kind extends HostFrame['kind']> = Extract<HostFrame, { kind: Kind }>

/** The kinds of frames that are recorded. A form's contents are read from the client itself instead. */
const KEPT: readonly HostFrame['kind'][] = [
  'message',
  'go',
  'leaving',
  'confirm',
  'sign-in',
  'sign-out',
  'closed',
  'reopened',
]

export function createTestBrowser(): TestBrowser {
  const frames: HostFrame[] = []
  let idleAt = -1
  /**
   * Called when the state changes, to continue calls of `untilIdle`. There can be several, because tests can run
   * actions concurrently.
   */
  const waiting: (() => void)[] = []
  let refused = 0
  let isClosed = false

  function wake(): void {
    for (const resume of waiting.splice(0)) resume()
  }

  return {
    connection: {
      send(frame) {
        if (frame.kind === 'idle') idleAt = Math.max(idleAt, frame.seq)
        else if (KEPT.includes(frame.kind)) frames.push(frame)
        wake()
      },
      refuse() {
        refused += 1
      },
      close(_code, last) {
        if (last !== undefined) frames.push(last)
        isClosed = true
        wake()
      },
      answers: async () => true,
      unread: () => ({ held: 0, taken: 0 }),
      terminate: () => {},
      checkHeartbeat: () => {},
    },
    frames,
    refused: () => refused,
    lastOf: <Kind extends HostFrame['kind']>(kind: Kind) =>
      frames.findLast((one): one is Frame<Kind> => one.kind === kind),
    async untilIdle(seq) {
      while (idleAt < seq && !isClosed) {
        const { promise, resolve } = Promise.withResolvers<void>()
        waiting.push(resolve)
        await promise
      }
    },
    needOpen() {
      const over = frames.find((one) => ['sign-in', 'sign-out', 'closed'].includes(one.kind))
      if (over !== undefined || isClosed)
        throw new ScriptError('this client is closed or signed out; open another one with solution.open()')
    },
    leave() {
      isClosed = true
    },
  }
}
