import type { BrowserFrame } from '../web/frames.ts'
import { CLOSE_CODES, type ClientEnding } from './client-ending.ts'
import type { ClientNotices } from './client-notices.ts'
import type { ClientOpening } from './client-opening.ts'
import type { ClientState } from './client-state.ts'
import type { Connection } from './connection.ts'
import type { Visitor } from './visitor.ts'

/** Connects a client to its browser, and waits for the browser to reconnect after a disconnect. */
export interface ClientBrowser {
  /** Implements the method of the same name in `Client`. */
  attach(connection: Connection, hello: Hello, visitor: Visitor, isCopy: boolean): void
  /** Implements the method of the same name in `Client`. */
  detach(connection: Connection): void
}

export type Hello = Extract<BrowserFrame, { kind: 'hello' }>

export function createClientBrowser(
  state: ClientState,
  { asBusy }: ClientNotices,
  { open, reopen }: ClientOpening,
  { end }: ClientEnding,
): ClientBrowser {
  const { id, parts, outbox, lane } = state
  return {
    attach(next, hello, from, isCopy) {
      if (state.grace !== null) clearTimeout(state.grace)
      state.grace = null
      outbox.connection?.close(CLOSE_CODES.elsewhere, { kind: 'closed', why: 'elsewhere' })
      // The user may have chosen another language on the account page.
      if (from.found !== null && from.locale !== state.visitor.locale) state.screen.changeLocale(from.locale)
      state.visitor = { ...from, solution: state.solution, found: from.found ?? state.visitor.found }
      const isNew = state.page === ''
      if (hello.page !== state.page) {
        state.handled = 0
        state.confirming = null
        state.screen.views.forgetUnreadable()
      }
      state.page = hello.page
      outbox.attach(next, { kind: 'hello', client: id, seq: state.handled, isNew: isNew && !isCopy })
      if (state.isOpen && state.sandbox !== null) {
        outbox.send(state.screen.language(state.handled), state.screen.whole(state.handled))
      }
      // The frame that opens the dialog may have been lost with the previous connection, so send it again.
      if (state.confirming !== null) outbox.send({ kind: 'confirm', href: state.confirming.href })
      const report = parts.live?.reports.get(state.solution.name)
      if (report !== undefined) outbox.send({ kind: 'dev', report })
      if (isNew) void lane.enqueue(() => asBusy(open))
      else if (state.isLost) void lane.enqueue(reopen)
    },
    detach(which) {
      if (which !== outbox.connection) return
      outbox.detach()
      state.grace = setTimeout(() => void end(null), parts.limits.CLIENT_GRACE)
    },
  }
}
