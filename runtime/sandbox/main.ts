// What runs in a sandbox process. It reads frames from file descriptor 3 and answers on it; it has no network, no
// files but the code, and no children (see sandbox-process.ts), and it ends when the host closes the descriptor.
import { Socket } from 'node:net'
import type { Fault } from '../bundle/faults.ts'
import { createFrameReader, encodeFrame } from '../frames.ts'
import type { FromSandbox, SandboxCall, SandboxOutcome, ToSandbox } from '../protocol.ts'
import { loadSolution } from './isolate.ts'

/** The host's frames hold whole solutions; 256 MiB is above what the bundle limits let through. */
const MAX_FRAME = 256 * 1024 ** 2

const channel = new Socket({ fd: 3, readable: true, writable: true })
const reader = createFrameReader(() => MAX_FRAME, receive)
channel.on('data', (chunk: Buffer) => {
  if (!reader.push(chunk)) process.exit(1)
})
channel.on('close', () => process.exit(0))
channel.on('error', () => process.exit(0))

/** Calls that have not started yet, in their order. */
const waiting = new Map<number, SandboxCall>()
let solution: ReturnType<typeof loadSolution> | null = null

function send(message: FromSandbox): void {
  channel.write(encodeFrame(JSON.stringify(message)))
}

function receive(text: string): void {
  const message = JSON.parse(text) as ToSandbox
  switch (message.kind) {
    case 'load':
      load(message)
      return
    case 'call':
      waiting.set(message.id, message.call)
      setImmediate(startNext)
      return
    case 'cancel':
      if (waiting.delete(message.id)) ended(message.id, refused('the call was given up before it started'))
      return
    case 'answer':
      solution?.answer(message.id, message.request, message.ok, message.value)
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

/**
 * Calls start one by one between the frames, so that a `cancel` that came while another call ran is read before the
 * call that it is meant for starts.
 */
function startNext(): void {
  const [next] = waiting
  if (next === undefined) return
  const [id, call] = next
  waiting.delete(id)
  send({ kind: 'started', id })
  if (solution === null) ended(id, refused('no solution is loaded'))
  else solution.call(id, call)
}

function load(message: Extract<ToSandbox, { kind: 'load' }>): void {
  solution = loadSolution(message.solution, {
    log: (id, level, line, position) =>
      send({ kind: 'log', id, level, message: line, ...(position ? { position } : {}) }),
    request: (id, request, plugin, method, args) => send({ kind: 'request', id, request, plugin, method, args }),
    ended,
  })
  send({ kind: 'loaded', faults: solution.faults as readonly Fault[] })
}

function ended(id: number, outcome: SandboxOutcome): void {
  send({ kind: 'ended', id, outcome })
}

function probe(message: Extract<ToSandbox, { kind: 'probe' }>): void {
  const { found, fault } = solution?.probe(message.unit, message.entries) ?? { found: [], fault: null }
  send({ kind: 'probed', id: message.id, found, faults: fault ? [fault] : [] })
}

/** Loaded only here: a process that serves logins needs neither parser. */
async function check(message: Extract<ToSandbox, { kind: 'check' }>): Promise<void> {
  const { checkUpload } = await import('./check-upload.ts')
  send({ kind: 'checked', checked: checkUpload(message.files) })
}

function refused(message: string): SandboxOutcome {
  return { ok: false, code: 'sandbox_busy', message, milliseconds: 0 }
}

send({ kind: 'ready' })
