import type { Isolate } from './isolate.ts'

/** Makes sure that an isolate receives the messages from debuggers. */
export interface Knocker {
  /** Call this after each message. */
  knock(): void
  /** Call this when the isolate has ended. */
  stop(): void
}

/** How often the separate message is repeated, in ms. */
const EVERY = 50

/**
 * A thread that a debugger pauses can miss the signal for a message (isolated-vm 7.0.1: `runMessageLoopOnPause` waits
 * without checking whether a message is already there), and then reads it only together with the next message. So this
 * sends a separate message and repeats it until there is a response; by then, the earlier messages have been read too,
 * because messages are handled in order.
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
      // The isolate has ended.
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
