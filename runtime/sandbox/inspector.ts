import type { InspectorSession, Isolate } from './isolate.ts'
import { createKnocker, type Knocker } from './knocker.ts'

/** What debuggers and one isolate say to each other. Of the sandbox process only; it opens no port. */
export interface Inspector {
  /** The isolate, made anew when the last one has ended. */
  readonly isolate: () => Isolate
  /** In ms, as `performance.now()`, but it stands still while a debugger holds the isolate. */
  readonly now: () => number
  attach(session: number): void
  /** Messages for sessions that are no more are dropped. */
  dispatch(session: number, message: string): void
  /** What it held goes on, if nobody else holds it. */
  detach(session: number): void
  /** The isolate has ended, and all sessions with it. */
  lost(): void
}

export type InspectorEvents = {
  readonly inspected: (session: number, message: string) => void
  readonly detached: (session: number) => void
}

/** How V8 begins what it tells when it stops a script and when that goes on. */
const PAUSED = '{"method":"Debugger.paused"'
const RESUMED = '{"method":"Debugger.resumed"'

/**
 * The isolate must be used by asynchronous calls only: a script that is held keeps its thread, and this one has to go on
 * bringing messages.
 */
export function createInspector(makeIsolate: () => Isolate, events: InspectorEvents): Inspector {
  const sessions = new Map<number, InspectorSession>()
  /** Sessions that were told that the isolate is held. */
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
    heldSince ??= performance.now()
  }

  function letGo(session: number): void {
    holding.delete(session)
    if (heldSince === null || holding.size > 0) return
    heldBefore += performance.now() - heldSince
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
    now: () => (heldSince ?? performance.now()) - heldBefore,
    attach(session) {
      const attached = isolate()
      knocker ??= createKnocker(attached)
      const made = attached.createInspectorSession()
      made.onResponse = (_id, message) => notify(session, message)
      made.onNotification = (message) => notify(session, message)
      sessions.set(session, made)
    },
    dispatch(session, message) {
      try {
        sessions.get(session)?.dispatchProtocolMessage(message)
        knocker?.knock()
      } catch {
        // So it says that the isolate was ended, such as for its memory.
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
