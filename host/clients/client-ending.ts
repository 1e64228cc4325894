import type { ClosedWhy } from '../web/frames.ts'
import type { CallEntry } from './client-entries.ts'
import type { ClientNotices } from './client-notices.ts'
import type { ClientState } from './client-state.ts'
import { SIGN_OUT_TIME } from './late-sign-outs.ts'

/** Ends a client, or only the context that its scripts run in. */
export interface ClientEnding {
  /** Implements the method of the same name in `Client`. */
  end(why: ClosedWhy | null): Promise<void>
  /** Implements the method of the same name in `Client`. */
  move(code: number): Promise<void>
  /** Runs the forms' `onUnload`, then `onSolutionClose`. Any commands that they issue have no effect. */
  close(): Promise<void>
  /** Call this if the client can't open: shows the user an error, then calls `giveUp`. */
  couldNotOpen(key: string, reference: string): void
  /** Ends the client, except on a live host: there, the client waits for the next version. */
  giveUp(why: ClosedWhy): void
}

/** The close code (RFC 6455, section 7.4.2) for each reason why a client ends. */
export const CLOSE_CODES: Readonly<Record<ClosedWhy, number>> = {
  'signed-out': 4401,
  gone: 4410,
  elsewhere: 4409,
  failed: 4500,
  refused: 1008,
}
/** The close code if the page navigates to another page. See the frames `sign-in` and `sign-out`. */
const LEFT = 1000

/** @param over called once, when the client accepts no more browsers */
export function createClientEnding(
  state: ClientState,
  call: CallEntry,
  { sayFailed }: ClientNotices,
  over: () => void,
): ClientEnding {
  const { parts, outbox, lane, timers } = state

  function end(why: ClosedWhy | null): Promise<void> {
    if (state.isOver) return lane.done()
    state.isOver = true
    timers.clear()
    if (state.grace !== null) clearTimeout(state.grace)
    const { connection } = outbox
    if (why !== null) connection?.close(CLOSE_CODES[why], { kind: 'closed', why })
    // The page is about to navigate, which closes the connection. Close it from here only if the page doesn't navigate.
    else if (connection !== null) setTimeout(connection.close, SIGN_OUT_TIME, LEFT).unref()
    over()
    return lane.enqueue(close)
  }

  async function close(): Promise<void> {
    const open = state.sandbox
    if (open === null) return
    try {
      if (state.isOpen) await call('forms.close', [])
      const hasClose = !state.visitor.isLoginForm && state.solution.entries.main?.includes('onSolutionClose')
      if (state.isOpen && hasClose) await call('onSolutionClose', [])
    } finally {
      state.sandbox = null
      open.close()
    }
  }

  function giveUp(why: ClosedWhy): void {
    if (parts.live === undefined) void end(why)
  }

  return {
    end,
    async move(code) {
      await lane.enqueue(async () => outbox.connection?.close(code))
      await end(null)
    },
    close,
    couldNotOpen(key, reference) {
      sayFailed(reference, key)
      giveUp('failed')
    },
    giveUp,
  }
}
