import type { FromSandbox, ToSandbox, Unit } from './protocol.ts'

export type DebugListener = {
  /** Receives a Chrome DevTools protocol message. */
  readonly message: (text: string) => void
  /** Called when the isolate or its process has ended. */
  readonly ended: () => void
}

/** One debugger's session with one isolate. */
export interface DebugSession {
  /** @param message a Chrome DevTools protocol message */
  send(message: string): void
  /** Detaches the debugger. A script that it paused continues. */
  close(): void
}

/** The debuggers' sessions with the isolates of one sandbox process. */
export interface DebugSessions {
  readonly count: () => number
  open(unit: Unit, listener: DebugListener): DebugSession
  take(message: Extract<FromSandbox, { kind: 'inspected' | 'detached' }>): void
  /** Call this when the process has ended. */
  end(): void
}

export function createDebugSessions(send: (message: ToSandbox) => void): DebugSessions {
  const listeners = new Map<number, DebugListener>()
  let lastSession = 0

  function end(session: number): void {
    const listener = listeners.get(session)
    listeners.delete(session)
    listener?.ended()
  }

  return {
    count: () => listeners.size,
    open(unit, listener) {
      const session = ++lastSession
      listeners.set(session, listener)
      send({ kind: 'attach', session, unit })
      return {
        send(message) {
          if (listeners.has(session)) send({ kind: 'inspect', session, message })
        },
        close() {
          if (listeners.delete(session)) send({ kind: 'detach', session })
        },
      }
    },
    take(message) {
      if (message.kind === 'detached') end(message.session)
      else listeners.get(message.session)?.message(message.message)
    },
    end() {
      for (const session of [...listeners.keys()]) end(session)
    },
  }
}
