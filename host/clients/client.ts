import { createCorrelationId } from '../../base/http/correlation.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { BrowserFrame, ClosedWhy, DevReport } from '../web/frames.ts'
import { createClientBrowser, type Hello } from './client-browser.ts'
import { createClientEffects } from './client-effects.ts'
import { createClientEnding } from './client-ending.ts'
import { createCallEntry } from './client-entries.ts'
import { createReceiveFrame } from './client-events.ts'
import { createClientNotices } from './client-notices.ts'
import { createClientOpening } from './client-opening.ts'
import type { ClientParts } from './client-parts.ts'
import { createClientState } from './client-state.ts'
import type { Connection } from './connection.ts'
import type { Screen } from './screen.ts'
import type { Visitor } from './visitor.ts'

/**
 * One user's open solution: the context its scripts run in, the screen they build, and the browser connected to it, if
 * any.
 */
export interface Client {
  readonly id: string
  readonly visitor: Visitor
  /** Identifies the page load that this client serves. */
  readonly page: string
  /** Null while the browser is disconnected. */
  readonly connection: Connection | null
  /**
   * Connects a browser and closes the previous connection. `isCopy` means that the tab is a duplicate of another one.
   */
  attach(connection: Connection, hello: Hello, visitor: Visitor, isCopy: boolean): void
  /** Call this when the connection has closed. The client waits for a new connection until its grace period expires. */
  detach(connection: Connection): void
  receive(connection: Connection, frame: BrowserFrame): void
  /** On a live host: switches to the active version, and restores the user's form and input. */
  renew(): Promise<void>
  /** On a live host: replaces the report that the page shows above the form. */
  report(report: DevReport): void
  /** Ends the client, and runs its forms' `onUnload`, then `onSolutionClose`. @returns once these have run */
  end(why: ClosedWhy | null): Promise<void>
  /**
   * Call this when the host stops. It lets running calls finish and sends their responses. Then the connection is
   * closed with this code, and the client ends. The page then opens a new client on another host.
   * @returns once everything has run
   */
  move(code: number): Promise<void>
  /** What the client currently shows. Solution tests read this, because they have no browser. */
  readonly screen: Screen
  /**
   * Runs an entry function and applies its effects, as after an event.
   * @returns once the effects are applied
   */
  run(entry: string, args: readonly Json[]): Promise<void>
}

/** @param over called once, when the client accepts no more browsers */
export function createClient(id: string, opener: Visitor, parts: ClientParts, over: (client: Client) => void): Client {
  const state = createClientState(id, opener, parts, sayFault, (timer) => effects.run('application.runLater', [timer]))
  const { outbox, lane } = state
  const notices = createClientNotices(state)
  const call = createCallEntry(state)
  const ending = createClientEnding(state, call, notices, () => over(client))
  const effects = createClientEffects(state, call, notices, ending.end)
  const opening = createClientOpening(state, call, notices, effects, ending)
  const { attach, detach } = createClientBrowser(state, notices, opening, ending)

  /** Reports an internal error: the user sees that the action failed, and a reference for support. */
  function sayFault(error: unknown): void {
    const correlationId = createCorrelationId()
    parts.onError(error, { solution: state.solution.name, correlationId })
    if (state.isOpen) notices.sayFailed(correlationId)
    else ending.couldNotOpen('platform.client.notopened', correlationId)
  }

  const client: Client = {
    id,
    get visitor() {
      return state.visitor
    },
    get page() {
      return state.page
    },
    get connection() {
      return outbox.connection
    },
    attach,
    detach,
    receive: createReceiveFrame(state, call, notices, effects, ending.end),
    renew: () => lane.enqueue(opening.renew),
    report: (report) => outbox.send({ kind: 'dev', report }),
    end: ending.end,
    move: ending.move,
    get screen() {
      return state.screen
    },
    run: (entry, args) => lane.enqueue(() => effects.run(entry, args)),
  }
  return client
}
