import type { Isolate } from './isolate.ts'

/** Makes sure that an isolate receives the messages from debuggers. */
export interface Knocker {
  /** Call this after each message. */
  knock(): void
  /** Call this when the isolate has ended. */
  stop(): void
}

/** The interval in ms at which the knocker repeats its message. */
const EVERY = 50

/**
 * Works around a bug in isolated-vm 7.0.1: `runMessageLoopOnPause` waits without checking for queued messages. A thread
 * that a debugger pauses can therefore miss a message's signal, and reads the message only together with the next one.
 *
 * The knocker sends a separate message and repeats it until there is a response. Messages are handled in order, so the
 * earlier messages have been read by then.
 */
export function createKnocker(isolate: Isolate): Knocker {
  const session = isolate.createInspectorSession()
  let last = 0
  let timer: NodeJS.Timeout | null = null
  session.onResponse = (id) => {
    if (id === last) stop()
  }

  function ask(): void {
    try {
      session.dispatchProtocolMessage(`{"id":${last},"method":"Runtime.getIsolateId"}`)
    } catch {
      // Ignore the error: the isolate has ended.
      stop()
    }
  }

  function stop(): void {
    if (timer !== null) clearInterval(timer)
    timer = null
  }

  return {
    knock() {
      last++
      timer ??= setInterval(ask, EVERY)
    },
    stop,
  }
}
