import type { LogLevel, Position } from '../outcome.ts'
import type { Json } from '../plugin.ts'
import type { SandboxCall, SandboxSolution } from '../protocol.ts'
import type { CallEnd } from './call-end.ts'
import type { Client } from './client.ts'
import { type ClientIsolate, createClientIsolate, type Probed } from './client-isolate.ts'
import { createFromGuest, createLookUp } from './guest-questions.ts'
import type { Inspector } from './inspector.ts'
import { callbackOf, type Loading, type PreparedIsolate } from './isolate.ts'

/** The events of a process's clients; `call` is the id of one of their calls. */
export type ClientEvents = {
  /** Called when a call has begun, or when a client has begun to open. */
  readonly started: (call: number) => void
  readonly log: (call: number, level: LogLevel, message: string, position?: Position) => void
  readonly request: (call: number, request: number, plugin: string, method: string, args: readonly Json[]) => void
  readonly ended: (call: number, end: CallEnd) => void
  readonly hung: (call: number) => void
  /** Called when these clients have ended, together with their isolate. */
  readonly gone: (clients: readonly number[]) => void
}

/** All clients of one process: persistent contexts of one solution version, in isolates with one thread each. */
export interface Clients {
  /** Opens a client. The result is reported like the end of a call. */
  open(client: number, call: number): void
  /** Starts a client's call. Each client has at most one call at a time. */
  enter(client: number, call: number, what: SandboxCall): void
  answer(call: number, request: number, ok: boolean, value: Json): void
  close(client: number): void
  /** Loads the scripts as for a client, without calling an entry function. @returns the entry functions that exist */
  probe(call: number, entries: readonly string[], loading: Loading): Promise<Probed>
}

/**
 * Maximum clients per isolate. With more clients, a slow handler would delay more users. Clients also share the
 * isolate's memory.
 */
const CLIENTS_PER_ISOLATE = 24

/** @param inspector creates isolates that can be debugged; if this is absent, isolates can't be debugged */
export function createClients(
  prepared: PreparedIsolate,
  solution: SandboxSolution,
  events: ClientEvents,
  inspector?: Inspector,
): Clients {
  const { limits } = prepared
  const formScripts = solution.clients?.formScripts ?? []
  const files = new Set([...solution.scripts, ...formScripts].map(({ file }) => file))
  const settings = JSON.stringify({ ...solution.settings, ...solution.clients?.settings })
  const scripts = (solution.units.main ?? []).flatMap((index) => solution.scripts[index] ?? [])
  const isolates = new Set<ClientIsolate>()
  const clients = new Map<number, { readonly client: Client; readonly isolate: ClientIsolate }>()
  /** Clients by their context's number. */
  const byNumber = new Map<number, Client>()
  /** Client ids by the id of the client's current call. */
  const byCall = new Map<number, number>()
  /** Clients that are still opening. */
  const opening = new Set<number>()
  let lastNumber = 0
  const ask = callbackOf(
    createFromGuest<Client>({
      files,
      lookUp: createLookUp({ ...solution.tables, ...solution.clients?.tables }, prepared.sharedTable),
      contextOf: (number) => byNumber.get(number),
      log: ({ call }, ...line) => {
        if (call !== null) events.log(call.id, ...line)
      },
      request: ({ call }, ...request) => {
        if (call !== null) events.request(call.id, ...request)
      },
      done: ({ call }, text) => {
        if (call !== null) call.result = text
      },
    }),
  )

  function createClient(id: number): Client {
    const client: Client = { id, number: ++lastNumber, call: null, counted: 0, closed: false, loaded: null }
    byNumber.set(client.number, client)
    return client
  }

  function createIsolate(): ClientIsolate {
    const created = createClientIsolate({
      isolate: inspector?.isolate() ?? prepared.another(),
      debugClock: inspector?.now,
      limits,
      ask,
      settings,
      scripts,
      formScripts,
      files,
      events: {
        started: events.started,
        ended,
        hung: events.hung,
        lost: () => lost(created),
      },
    })
    isolates.add(created)
    return created
  }

  function ended(call: number, end: CallEnd): void {
    const client = byCall.get(call)
    byCall.delete(call)
    // A client that could not be opened is dropped.
    if (client !== undefined && opening.delete(client) && !end.ok) forget(client)
    events.ended(call, end)
  }

  function lost(isolate: ClientIsolate): void {
    isolates.delete(isolate)
    const gone = [...clients].filter(([, one]) => one.isolate === isolate).map(([id]) => id)
    for (const id of gone) forget(id)
    events.gone(gone)
    inspector?.lost()
  }

  function forget(id: number): void {
    const one = clients.get(id)
    if (one === undefined) return
    clients.delete(id)
    byNumber.delete(one.client.number)
    if (one.client.call !== null) byCall.delete(one.client.call.id)
    opening.delete(id)
    if (one.isolate.size() === 0) giveBack(one.isolate)
  }

  /** An empty isolate is kept only if it is the last one, since creating one takes some ms. */
  function giveBack(isolate: ClientIsolate): void {
    if (isolates.size < 2 || !isolates.delete(isolate)) return
    isolate.dispose()
  }

  /**
   * Returns the isolate with the shortest queue. If several queues have the same length, prefers the isolate with the
   * most clients.
   */
  function isolateWithRoom(): ClientIsolate {
    // With a debugger, use a single isolate, because the debugger attaches to only one.
    const most = inspector === undefined ? CLIENTS_PER_ISOLATE : Number.POSITIVE_INFINITY
    const open = [...isolates].filter((one) => one.size() < most)
    const [best] = open.sort((a, b) => a.load() - b.load() || b.size() - a.size())
    return best ?? createIsolate()
  }

  return {
    open(id, call) {
      const isolate = isolateWithRoom()
      const client = createClient(id)
      clients.set(id, { client, isolate })
      byCall.set(call, id)
      opening.add(id)
      isolate.open(client, call)
    },
    enter(id, call, what) {
      const one = clients.get(id)
      // Ignore errors: the client has ended, and `gone` has notified the host.
      if (one === undefined) return
      byCall.set(call, id)
      one.isolate.enter(one.client, call, what)
    },
    answer(call, request, ok, value) {
      const one = clients.get(byCall.get(call) ?? 0)
      if (one?.client.call?.id !== call) return
      one.isolate.answer(one.client, JSON.stringify({ kind: 'answer', id: request, ok, value }))
    },
    close(id) {
      const one = clients.get(id)
      if (one === undefined) return
      one.isolate.close(one.client)
      forget(id)
    },
    // Used only in a process for an upload check, which ends after the check.
    probe: (call, entries, loading) => createIsolate().probe(createClient(0), call, entries, loading),
  }
}
