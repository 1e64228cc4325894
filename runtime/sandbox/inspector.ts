import { now } from './clock.ts'
import type { InspectorSession, Isolate } from './isolate.ts'
import { createKnocker, type Knocker } from './knocker.ts'

/** Connects debuggers to one isolate inside the sandbox process, without opening a port. */
export interface Inspector {
  /** Returns the isolate, or a new isolate if the last one has ended. */
  readonly isolate: () => Isolate
  /** A clock in ms, like `now` in clock.ts. It stops while a debugger pauses the isolate. */
  readonly now: () => number
  attach(session: number): void
  /** Receives messages from debuggers. Messages for sessions that have ended are dropped. */
  dispatch(session: number, message: string): void
  /** Ends a session. A script that it paused continues, unless another session has also paused it. */
  detach(session: number): void
  /** Call this when the isolate has ended. It ends all sessions. */
  lost(): void
}

export type InspectorEvents = {
  readonly inspected: (session: number, message: string) => void
  readonly detached: (session: number) => void
}

/** How V8's messages start when it pauses and resumes a script. */
const PAUSED = '{"method":"Debugger.paused"'
const RESUMED = '{"method":"Debugger.resumed"'

/**
 * Creates an inspector. Use the isolate only through asynchronous calls. A synchronous call would block this thread
 * while a script is paused, but the thread must deliver the debugger's messages.
 */
export function createInspector(makeIsolate: () => Isolate, events: InspectorEvents): Inspector {
  const sessions = new Map<number, InspectorSession>()
  /** The sessions that have been notified of a pause. */
  const holding = new Set<number>()
  let current: Isolate | null = null
  let knocker: Knocker | null = null
  let heldSince: number | null = null
  let heldBefore = 0

  function isolate(): Isolate {
    if (current?.isDisposed) lost()
    current ??= makeIsolate()
    return current
  }

  function hold(session: number): void {
    holding.add(session)
    heldSince ??= now()
  }

  function letGo(session: number): void {
    holding.delete(session)
    if (heldSince === null || holding.size > 0) return
    heldBefore += now() - heldSince
    heldSince = null
  }

  function notify(session: number, message: string): void {
    if (!sessions.has(session)) return
    if (message.startsWith(PAUSED)) hold(session)
    else if (message.startsWith(RESUMED)) letGo(session)
    events.inspected(session, message)
  }

  function lost(): void {
    current = null
    knocker?.stop()
    knocker = null
    for (const session of [...sessions.keys()]) {
      sessions.delete(session)
      letGo(session)
      events.detached(session)
    }
  }

  return {
    isolate,
    now: () => (heldSince ?? now()) - heldBefore,
    attach(session) {
      const attached = isolate()
      knocker ??= createKnocker(attached)
      const created = attached.createInspectorSession()
      created.onResponse = (_id, message) => notify(session, message)
      created.onNotification = (message) => notify(session, message)
      sessions.set(session, created)
    },
    dispatch(session, message) {
      try {
        sessions.get(session)?.dispatchProtocolMessage(message)
        knocker?.knock()
      } catch {
        // `dispatchProtocolMessage` throws if the isolate has ended, for example because of its memory.
        lost()
      }
    },
    detach(session) {
      sessions.get(session)?.dispose()
      sessions.delete(session)
      letGo(session)
      knocker?.knock()
    },
    lost,
  }
}
