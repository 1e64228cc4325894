// What runs in a sandbox process. It reads frames from file descriptor 3 and answers on it; it has no network, no
// files but the code, and no children (see sandbox-process.ts), and it ends when the host closes the descriptor.
import { Socket } from 'node:net'
import type { Fault } from '../bundle/faults.ts'
import { createFrameReader, encodeFrame } from '../frames.ts'
import type { FromSandbox, SandboxSolution, ToSandbox, Trusted } from '../protocol.ts'
import type { CallEnd } from './call-end.ts'
import type { Clients } from './clients.ts'
import { type IsolateEvents, loadSolution, type PreparedIsolate, prepareIsolate } from './isolate.ts'

/** The host's frames hold whole solutions; 256 MiB is above what the bundle limits let through. */
const MAX_FRAME = 256 * 1024 ** 2

const channel = new Socket({ fd: 3, readable: true, writable: true })
const reader = createFrameReader(() => MAX_FRAME, receive)
channel.on('data', (chunk: Buffer) => {
  if (!reader.push(chunk)) process.exit(1)
})
channel.on('close', () => process.exit(0))
channel.on('error', () => process.exit(0))

/** A call that starts says as well that the one before is settled, so `settled` is said only when none does, in ms. */
const SETTLED_AFTER = 20
let settling: NodeJS.Timeout | undefined

/** Calls that have not started yet, in their order. */
const waiting = new Map<number, Extract<ToSandbox, { kind: 'call' }>>()
let prepared: PreparedIsolate | null = null
let solution: ReturnType<typeof loadSolution> | null = null
/** In a process for clients only. */
let clients: Promise<Clients> | null = null

function send(message: FromSandbox): void {
  sendText(JSON.stringify(message))
}

function sendText(text: string): void {
  channel.write(encodeFrame(text))
}

function receive(text: string): void {
  const message = JSON.parse(text) as ToSandbox
  switch (message.kind) {
    case 'prepare':
      prepare(message.trusted)
      return
    case 'load':
      load(message)
      return
    case 'call':
      take(message)
      return
    case 'serve':
      clients = serve(message.solution)
      return
    case 'open':
    case 'enter':
    case 'close':
      void clients?.then((served) => tell(served, message))
      return
    case 'cancel':
      if (waiting.delete(message.id)) ended(message.id, refused('the call was given up before it started'))
      return
    case 'answer':
      if (clients === null) solution?.answer(message.id, message.request, message.ok, message.value)
      else void clients.then((served) => served.answer(message.id, message.request, message.ok, message.value))
      return
    case 'probe':
      probe(message)
      return
    case 'ping':
      send({ kind: 'pong' })
      return
    case 'check':
      void check(message)
      return
  }
}

/** One that is not announced is alone: no other waits, and none will be given up before it starts. */
function take(message: Extract<ToSandbox, { kind: 'call' }>): void {
  if (message.announce) {
    waiting.set(message.id, message)
    setImmediate(startNext)
  } else start(message)
}

/**
 * Calls start one by one between the frames, so that a `cancel` that came while another call ran is read before the
 * call that it is meant for starts.
 */
function startNext(): void {
  const [next] = waiting
  if (next === undefined) {
    flush()
    return
  }
  const [id, message] = next
  waiting.delete(id)
  send({ kind: 'started', id })
  flush()
  start(message)
}

function start({ id, call }: Extract<ToSandbox, { kind: 'call' }>): void {
  clearTimeout(settling)
  if (solution === null) ended(id, refused('no solution is loaded'))
  else solution.call(id, call)
}

function prepare(trusted: Trusted): void {
  try {
    prepared = prepareIsolate(trusted)
    rehearse(prepared, trusted.rehearsal)
    prepared.makeAhead()
    send({ kind: 'ready' })
    // Node loads its cryptography at the first use, which takes 10 ms, and at the end of a script's stack it cannot.
    setImmediate(() => crypto.randomUUID())
  } catch (error) {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    send({ kind: 'unready', message: message.slice(0, 2000) })
  }
}

/** What the call comes to does not count, but its solution must load: a plugin that fails there fails everywhere. */
function rehearse(isolate: PreparedIsolate, { solution: ours, call }: Trusted['rehearsal']): void {
  const rehearsal = loadSolution(isolate, ours, {
    log: () => {},
    request: () => {},
    ended: () => {},
    settled: () => {},
  })
  const { fault } = rehearsal.probe(call.unit, [])
  if (fault) throw new Error(fault.message)
  rehearsal.call(0, call)
  // Else it would take the context that is made ahead for the first customer.
  rehearsal.close()
}

/** What calls of logins and of clients tell in the same way. */
const told = {
  log: (id, level, line, position) =>
    send({ kind: 'log', id, level, message: line, ...(position ? { position } : {}) }),
  request: (id, request, plugin, method, args) => send({ kind: 'request', id, request, plugin, method, args }),
} satisfies Partial<IsolateEvents>

/** Loaded only here: a process that serves logins has no clients. */
async function serve(served: SandboxSolution): Promise<Clients> {
  const { createClients } = await import('./clients.ts')
  if (prepared === null) throw new TypeError('the process is not prepared')
  // The isolate that was made ahead is for logins.
  prepared.isolate.dispose()
  return createClients(prepared, served, {
    ...told,
    started: (id) => send({ kind: 'started', id }),
    ended,
    hung: (id) => send({ kind: 'hung', id }),
    gone: (ids) => send({ kind: 'gone', clients: ids }),
  })
}

function tell(served: Clients, message: Extract<ToSandbox, { kind: 'open' | 'enter' | 'close' }>): void {
  if (message.kind === 'open') served.open(message.client, message.id)
  else if (message.kind === 'enter') served.enter(message.client, message.id, message.call)
  else served.close(message.client)
}

function load(message: Extract<ToSandbox, { kind: 'load' }>): void {
  if (prepared === null) return
  solution = loadSolution(prepared, message.solution, {
    ...told,
    ended,
    settled: () => {
      clearTimeout(settling)
      settling = setTimeout(send, SETTLED_AFTER, { kind: 'settled' })
    },
  })
  send({ kind: 'loaded', faults: solution.faults as readonly Fault[] })
}

function flush(): void {
  while (channel.writableCorked > 0) channel.uncork()
}

/** What the next call has to say at its start goes out together with this: each write wakes the host. */
function ended(id: number, end: CallEnd): void {
  if (waiting.size > 0) channel.cork()
  sendText(`{"kind":"ended","id":${id},"outcome":${end.ok ? end.json : JSON.stringify(end)}}`)
}

function probe(message: Extract<ToSandbox, { kind: 'probe' }>): void {
  const { found, fault } = solution?.probe(message.unit, message.entries) ?? { found: [], fault: null }
  send({ kind: 'probed', id: message.id, found, faults: fault ? [fault] : [] })
}

/** Loaded only here: a process that serves logins needs neither parser. */
async function check(message: Extract<ToSandbox, { kind: 'check' }>): Promise<void> {
  const { checkUpload } = await import('./check-upload.ts')
  send({ kind: 'checked', checked: await checkUpload(message.files) })
}

function refused(message: string): CallEnd {
  return { ok: false, code: 'sandbox_busy', message, milliseconds: 0 }
}
