import type { Isolate } from './isolate.ts'

/** Sees to it that an isolate takes what debuggers sent. */
export interface Knocker {
  /** To be called after each message. */
  knock(): void
  /** The isolate has ended. */
  stop(): void
}

/** In ms. */
const EVERY = 50

/**
 * A thread that a debugger holds can miss the sign that a message came (isolated-vm 7.0.1, `runMessageLoopOnPause` waits without
 * looking whether something is there already), and takes it with the next one only. So a question of our own follows, again
 * and again until it is answered: messages are taken in their order.
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
      // It has ended.
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
