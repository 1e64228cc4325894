// The entry point of a sandbox process. It reads frames from file descriptor 3 and writes its responses to it. It has
// no network, no files except the code, and no children (see sandbox-process.ts), and exits when the host closes the
// descriptor.
import type { Fault } from '../bundle/faults.ts'
import { createFrameReader, encodeFrame } from '../frames.ts'
import type { FromSandbox, Rehearsal, SandboxSolution, ToSandbox, Trusted } from '../protocol.ts'
import type { CallEnd } from './call-end.ts'
import { AS_SOCKET, openChannel } from './channel.ts'
import type { Clients } from './clients.ts'
import type { DebuggedLogins } from './debugged-logins.ts'
import type { Debugging } from './debugging.ts'
import { type IsolateEvents, type PreparedIsolate, prepareIsolate } from './isolate.ts'
import { loadSolution } from './load-solution.ts'

/** The host's frames contain whole solutions; 256 MiB is more than the bundle limits allow. */
const MAX_FRAME = 256 * 1024 ** 2

const reader = createFrameReader(() => MAX_FRAME, receive)
const channel = openChannel(
  3,
  (bytes) => {
    if (!reader.push(bytes)) process.exit(1)
  },
  // The host is gone. `process.exit` would wait for V8's and isolated-vm's threads, which in rare cases never finish.
  () => process.kill(process.pid, 'SIGKILL'),
  process.argv.includes(AS_SOCKET),
)

/**
 * Delay in ms before `settled` is sent. If the next call starts earlier, `settled` is not sent, because the start
 * implies it.
 */
const SETTLED_AFTER = 20
let settling: NodeJS.Timeout | undefined
/** Delay in ms. A process that is needed immediately receives its first message earlier. */
const WARM_UP_AFTER = 20
let warming: NodeJS.Timeout | undefined

type Preparation = { readonly message: Extract<ToSandbox, { kind: 'prepare' }>; readonly parts: Buffer[] }

/** Calls that have not started yet, in order. */
const waiting = new Map<number, Extract<ToSandbox, { kind: 'call' }>>()
/** Set from the `prepare` message until the two frames that follow it have arrived. */
let preparation: Preparation | null = null
/** Whether the next frame is the snapshot for clients. */
let isSnapshotNext = false
/**
 * The channel is sped up after this many calls and answers. Chosen here: a process that serves only one or two sign-ins
 * never needs it.
 */
const FEW = 4
/** How many calls have ended and how many answers have arrived. */
let handled = 0
let prepared: PreparedIsolate | null = null
let solution: ReturnType<typeof loadSolution> | null = null
/** The loaded solution's data, as received from the host. */
let source: SandboxSolution | null = null
/** Set only in a process for clients. */
let clients: Promise<Clients> | null = null
/** Used in place of `solution` if logins are debugged. */
let debuggedLogins: Promise<DebuggedLogins> | null = null
/** Set only in a process that is debugged. */
let debugging: Promise<Debugging> | null = null

function send(message: FromSandbox): void {
  sendText(JSON.stringify(message))
}

function sendText(text: string): void {
  channel.write(encodeFrame(text))
}

function receive(content: Buffer): void {
  if (preparation !== null) {
    receivePart(preparation, content)
    return
  }
  if (isSnapshotNext) {
    isSnapshotNext = false
    prepared?.useClientSnapshot(content)
    return
  }
  const message = JSON.parse(content.toString()) as ToSandbox
  clearTimeout(warming)
  switch (message.kind) {
    case 'prepare':
      preparation = { message, parts: [] }
      return
    case 'createClientSnapshot':
      sendClientSnapshot()
      return
    case 'clientSnapshot':
      isSnapshotNext = true
      return
    case 'load':
      if (message.debug) {
        channel.speedUp()
        debuggedLogins = loadDebugged(message.solution)
      } else load(message)
      return
    case 'call':
      take(message)
      return
    case 'serve':
      channel.speedUp()
      if (message.debug) debugging = startDebugging()
      clients = serve(message.solution)
      return
    case 'open':
    case 'enter':
    case 'close':
      void clients?.then((served) => forward(served, message))
      return
    case 'cancel':
      if (waiting.delete(message.id)) ended(message.id, refused('the call was cancelled before it started'))
      return
    case 'answer':
      countHandled()
      if (solution !== null) solution.answer(message.id, message.request, message.ok, message.value)
      else
        void (clients ?? debuggedLogins)?.then((served) =>
          served.answer(message.id, message.request, message.ok, message.value),
        )
      return
    case 'probe':
      void probe(message)
      return
    case 'ping':
      send({ kind: 'pong' })
      return
    case 'check':
      void check(message)
      return
    case 'getReadyToCheck':
      void import('./check-upload.ts').then(({ getReady }) => getReady())
      return
    case 'attach':
    case 'inspect':
    case 'detach':
      // Waits until the object that serves the calls exists, so that debuggers attach to its isolate.
      void (clients ?? debuggedLogins)?.then(async () => (await debugging)?.take(message))
      return
  }
}

/**
 * Accepts a call. The host sends an unannounced call only if no other call is queued, so such a call starts
 * immediately.
 */
function take(message: Extract<ToSandbox, { kind: 'call' }>): void {
  if (message.announce) {
    waiting.set(message.id, message)
    setImmediate(startNext)
  } else start(message)
}

/**
 * Starts the next queued call. Between two calls, the process reads frames, so a `cancel` that arrived during the first
 * call stops the second one.
 */
function startNext(): void {
  const [next] = waiting
  if (next === undefined) {
    channel.uncork()
    return
  }
  const [id, message] = next
  waiting.delete(id)
  send({ kind: 'started', id })
  channel.uncork()
  start(message)
}

function start({ id, call }: Extract<ToSandbox, { kind: 'call' }>): void {
  clearTimeout(settling)
  if (debuggedLogins !== null) void debuggedLogins.then((logins) => logins.call(id, call))
  else if (solution === null) ended(id, refused('no solution is loaded'))
  else solution.call(id, call)
}

function receivePart({ message, parts }: Preparation, content: Buffer): void {
  parts.push(content)
  const [trusted, snapshot] = parts
  if (trusted === undefined || snapshot === undefined) return
  preparation = null
  // The host has escaped all characters outside of ASCII.
  prepare(message, () => JSON.parse(trusted.toString('latin1')) as Trusted, snapshot)
}

/**
 * With a snapshot from another process, the process is ready immediately and rehearses only while it waits for work. The
 * other process has shown that the plugins work, and a process that checks an upload or serves clients would gain
 * nothing from the rehearsal.
 * @param snapshot may be empty
 */
function prepare({ limits, rehearsal }: Preparation['message'], trusted: () => Trusted, snapshot: Buffer): void {
  reportFailure(() => {
    const isolate = prepareIsolate(limits, trusted, snapshot)
    prepared = isolate
    const { newSnapshot } = isolate
    if (newSnapshot !== null) warmUp(isolate, rehearsal)
    send({ kind: 'ready', ...(newSnapshot === null ? {} : { snapshot: newSnapshot }) })
    if (newSnapshot === null) warming = setTimeout(reportFailure, WARM_UP_AFTER, () => warmUp(isolate, rehearsal))
  })
}

/**
 * Always responds, so that no later message can pass for the response. The response is written completely before the
 * process reads its next message (`channel.ts`), so no script can change it. If a plugin fails for clients, each client
 * reports the error.
 */
function sendClientSnapshot(): void {
  let snapshot: string | undefined
  try {
    snapshot = prepared?.clientSnapshot()
  } catch {}
  send({ kind: 'clientSnapshot', ...(snapshot === undefined ? {} : { snapshot }) })
}

function reportFailure(act: () => void): void {
  try {
    act()
  } catch (error) {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    send({ kind: 'unready', message: message.slice(0, 2000) })
  }
}

function warmUp(isolate: PreparedIsolate, rehearsal: Rehearsal): void {
  rehearse(isolate, rehearsal)
  isolate.makeAhead()
}

/**
 * Runs the rehearsal call and ignores its result. Throws errors that occur while its solution loads, because a plugin
 * that fails here fails for every solution.
 */
function rehearse(isolate: PreparedIsolate, { solution: ours, call }: Rehearsal): void {
  const rehearsal = loadSolution(isolate, ours, {
    log: () => {},
    request: () => {},
    ended: () => {},
    settled: () => {},
  })
  const { fault } = rehearsal.probe(call.unit, [])
  if (fault) throw new Error(fault.message)
  rehearsal.call(0, call)
  // Don't create a context in advance for this solution. It would use up the context for the first real call.
  rehearsal.close()
}

/** Events that login calls and client calls report in the same way. */
const sharedEvents = {
  log: (id, level, line, position) =>
    send({ kind: 'log', id, level, message: line, ...(position ? { position } : {}) }),
  request: (id, request, plugin, method, args) => send({ kind: 'request', id, request, plugin, method, args }),
} satisfies Partial<IsolateEvents>

/**
 * Node loads its crypto module on first use, which takes 10 ms and fails if a script has exhausted the stack. Few
 * scripts need the module.
 */
function getUuidsReady({ scripts, clients }: SandboxSolution): void {
  const asksForThem = ({ source }: { readonly source: string }) => /uuid/i.test(source)
  if (scripts.some(asksForThem) || clients?.formScripts.some(asksForThem)) setImmediate(() => crypto.randomUUID())
}

async function serve(served: SandboxSolution): Promise<Clients> {
  getUuidsReady(served)
  const created = await clientsOf(served)
  // Clients get their own isolates. The isolate that was created in advance is only for logins.
  prepared?.isolate.dispose()
  return created
}

/** Imports clients.ts on demand, because a process that serves logins doesn't need it. */
async function clientsOf(served: SandboxSolution): Promise<Clients> {
  const { createClients } = await import('./clients.ts')
  if (prepared === null) throw new TypeError('the sandbox process received a request before its `prepare` message')
  const events = {
    ...sharedEvents,
    started: (id: number) => send({ kind: 'started', id }),
    ended,
    hung: (id: number) => send({ kind: 'hung', id }),
    gone: (ids: readonly number[]) => send({ kind: 'gone', clients: ids }),
  }
  return createClients(prepared, served, events, (await debugging)?.inspectorOf('main'))
}

function forward(served: Clients, message: Extract<ToSandbox, { kind: 'open' | 'enter' | 'close' }>): void {
  if (message.kind === 'open') served.open(message.client, message.id)
  else if (message.kind === 'enter') served.enter(message.client, message.id, message.call)
  else served.close(message.client)
}

function load(message: Extract<ToSandbox, { kind: 'load' }>): void {
  if (prepared === null) return
  source = message.solution
  getUuidsReady(source)
  solution = loadSolution(prepared, message.solution, {
    ...sharedEvents,
    ended,
    settled: () => {
      clearTimeout(settling)
      settling = setTimeout(send, SETTLED_AFTER, { kind: 'settled' })
    },
  })
  send({ kind: 'loaded', faults: solution.faults as readonly Fault[] })
}

/** Imports debugging.ts on demand, because only a debugged process needs it. */
async function startDebugging(): Promise<Debugging> {
  const { createDebugging } = await import('./debugging.ts')
  if (prepared === null) throw new TypeError('the sandbox process received a request before its `prepare` message')
  return createDebugging(prepared, {
    inspected: (session, message) => send({ kind: 'inspected', session, message }),
    detached: (session) => send({ kind: 'detached', session }),
  })
}

async function loadDebugged(served: SandboxSolution): Promise<DebuggedLogins> {
  debugging = startDebugging()
  const { createDebuggedLogins } = await import('./debugged-logins.ts')
  getUuidsReady(served)
  const { inspectorOf } = await debugging
  if (prepared === null) throw new TypeError('the sandbox process received a request before its `prepare` message')
  const created = createDebuggedLogins(prepared, served, inspectorOf, {
    ...sharedEvents,
    ended,
    settled: () => send({ kind: 'settled' }),
    hung: (id) => send({ kind: 'hung', id }),
  })
  prepared.isolate.dispose()
  return created
}

/** Reports a call's end. The start of the next call is sent in the same write, since each write wakes the host. */
function ended(id: number, end: CallEnd): void {
  if (waiting.size > 0) channel.cork()
  sendText(`{"kind":"ended","id":${id},"outcome":${end.ok ? end.json : JSON.stringify(end)}}`)
  countHandled()
}

function countHandled(): void {
  handled += 1
  // Later, so that the current message doesn't wait for it.
  if (handled === FEW) setImmediate(() => channel.speedUp())
}

async function probe(message: Extract<ToSandbox, { kind: 'probe' }>): Promise<void> {
  const { unit, entries, isForRequests = false } = message
  const probed =
    unit === 'main' && !isForRequests ? await probeClient(message) : solution?.probe(unit, entries, loading)
  const { found, fault } = probed ?? { found: [], fault: null }
  send({ kind: 'probed', id: message.id, found, faults: fault ? [fault] : [] })
}

/** Reports the file before its script runs, because the script may crash the process. */
function loading(file: string): void {
  send({ kind: 'loading', file })
}

/**
 * Probes the scripts of the unit `main` in a client's context. Unlike a login's context, it contains the forms, and the
 * globals that plugins add only for clients.
 */
async function probeClient({ id, entries }: Extract<ToSandbox, { kind: 'probe' }>) {
  if (source === null) return null
  try {
    return await (await clientsOf(source)).probe(id, entries, loading)
  } catch (error) {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    return { found: [], fault: { code: 'script_load' as const, file: '', message: message.slice(0, 2000) } }
  }
}

/** Imports check-upload.ts on demand, because a process that serves logins doesn't need its parsers. */
async function check(message: Extract<ToSandbox, { kind: 'check' }>): Promise<void> {
  const { checkUpload } = await import('./check-upload.ts')
  send({ kind: 'checked', checked: await checkUpload(message.files) })
}

function refused(message: string): CallEnd {
  return { ok: false, code: 'sandbox_busy', message, milliseconds: 0 }
}
