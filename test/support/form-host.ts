import type { WebSocketRoute } from 'playwright-core'
import type { WebSocket } from 'ws'
import type { RenderContext } from '../../host/clients/render/context.ts'
import { renderElement, renderForm } from '../../host/clients/render/form.ts'
import type { ElementState, FormView } from '../../host/clients/view.ts'
import {
  type BrowserEvent,
  type BrowserFrame,
  type Change,
  type HostFrame,
  readBrowserFrame,
} from '../../host/web/frames.ts'
import type { FormDefinition } from '../../runtime/forms/form-definition.ts'

type Socket = Pick<WebSocketRoute, 'send' | 'close' | 'onMessage' | 'onClose'>
type Hello = Extract<BrowserFrame, { kind: 'hello' }>

/** The first client's id. It has the format of ids that a host creates. */
export const CLIENT = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ'

/**
 * Simulates the host's side of a client's connection, without a solution or sandbox. It accepts every value, sorts
 * tables, switches their pages, and selects rows. It records the events that it receives. Its state survives
 * reconnects.
 */
export function createFormHost(definition: FormDefinition, context: RenderContext) {
  const elements = new Map<string, ElementState>()
  const view: FormView = { elements }
  const events: BrowserEvent[] = []
  const hellos: Hello[] = []
  /**
   * The postponed responses to events. `hold` starts postponing, and `release` sends them. Null if responses aren't
   * postponed.
   */
  let held: (() => void)[] | null = null
  let handled = 0
  let page = ''
  let client = CLIENT
  let isNew = true
  let socket: Socket | null = null
  let isReachable = true

  const send = (frame: HostFrame) => socket?.send(JSON.stringify(frame))
  const change = (name: string, state: ElementState) => elements.set(name, { ...elements.get(name), ...state })
  const changes = (...names: string[]): Change[] =>
    names.map((name) => renderElement(definition, view, context, name)).filter((one) => one !== null)

  function handle(event: BrowserEvent): void {
    handled = event.seq
    events.push(event)
    const { element: name } = event
    let changed = false
    if (event.type === 'onElementDataChange') change(name, { value: event.value })
    if (event.type === 'showTab') change(name, { value: event.value })
    if (event.type === 'onSort' || event.type === 'showPage' || event.type === 'onRecordSelection') changed = true
    if (event.type === 'onSort') change(name, { sort: event.value, page: 1 })
    if (event.type === 'showPage') change(name, { page: event.value })
    if (event.type === 'onRecordSelection') {
      const { rows, selected } = event.value
      const others = (elements.get(name)?.selected ?? []).filter((id) => !rows.includes(id))
      change(name, { selected: selected ? [...others, ...rows] : others })
    }
    if (changed) send({ kind: 'patch', seq: handled, changes: changes(name) })
    send({ kind: 'idle', seq: handled })
  }

  return {
    events,
    hellos,
    view,
    send,
    change,
    /** Sends the current state of these elements, as a host does after a call to a handler. */
    patch(...names: string[]): void {
      send({ kind: 'patch', seq: handled, changes: changes(...names) })
    },
    showForm(): void {
      const form = renderForm(definition, view, context)
      if (form !== null) send({ kind: 'form', seq: handled, ...form })
    },
    hold(): void {
      held = []
    },
    release(): void {
      const waiting = held ?? []
      held = null
      for (const one of waiting) one()
    },
    /** Discards the postponed responses, for a client that no longer exists. */
    forget(): void {
      held = null
    },
    /** Closes the connection, and rejects new ones until `comeBack` is called. */
    lose(): void {
      isReachable = false
      void socket?.close({ code: 1011 })
      socket = null
    },
    /** Simulates a host that stops. New connections succeed, as if another host had taken over. */
    goAway(): void {
      void socket?.close({ code: 1001 })
      socket = null
    },
    comeBack(): void {
      isReachable = true
    },
    /**
     * Replaces the client with a new one, with its own id and initial state, as after the grace period.
     * @returns the new client's id
     */
    beginAnew(): string {
      client = client.slice(1) + client[0]
      isNew = true
      handled = 0
      elements.clear()
      return client
    },
    get isConnected(): boolean {
      return socket !== null
    },
    /** Accepts a connection. Pass this function to `page.routeWebSocket`. Wrap a real socket with `routeOf` first. */
    connect(route: Socket): void {
      if (!isReachable) return void route.close({ code: 1011 })
      socket = route
      route.onClose(() => {
        if (socket === route) socket = null
      })
      route.onMessage((message) => {
        const frame = readBrowserFrame(String(message))
        if (frame === null) throw new TypeError(`not a frame: ${String(message).slice(0, 200)}`)
        if (frame.kind === 'hello') {
          hellos.push(frame)
          // The browser may send the id of another tab's client, or of one that has ended. Don't resume those.
          if (frame.client !== client) isNew = true
          if (frame.page !== page) handled = 0
          page = frame.page
          send({ kind: 'hello', client, seq: handled, isNew })
          isNew = false
          this.showForm()
        }
        if (frame.kind === 'event' && frame.seq > handled) {
          const answer = () => {
            if (frame.seq > handled) handle(frame)
          }
          if (held === null) answer()
          else held.push(answer)
        }
      })
    },
  }
}

/** Wraps a real WebSocket, with the interface of a socket that Playwright intercepts. */
export function routeOf(socket: WebSocket): Socket {
  return {
    send: (data) => socket.send(data),
    close: async ({ code } = {}) => socket.close(code),
    onMessage: (handler) => void socket.on('message', (data) => handler(String(data))),
    onClose: (handler) => void socket.on('close', (code) => handler(code, undefined)),
  }
}
