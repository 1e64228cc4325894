import { type ClientCall, clientCall, createClientCalls, type HeldClient, HUNG_TIME } from './client-calls.ts'
import { createClientWorkerWatch } from './client-worker-watch.ts'
import type { Limits } from './limits.ts'
import type { Failed, Outcome } from './outcome.ts'
import { createProcessEnd } from './process-end.ts'
import type { FromSandbox, SandboxSolution } from './protocol.ts'
import type { ClientGone, ClientOutcome, SandboxClient } from './sandbox-client.ts'
import { MAX_CALL_FRAME, type SandboxProcess } from './sandbox-process.ts'
import type { LogHandler } from './served-call.ts'

export type ClientWorkerEvents = {
  /**
   * Called when the process was killed or has exited, and its clients have ended. `culprits` contains the log handlers
   * of the calls that caused it. The list may be empty even if `wentWell` is false.
   */
  readonly gone: (worker: ClientWorker, wentWell: boolean, culprits: readonly LogHandler[]) => void
  /** Called when the process has exited and its memory is free. */
  readonly exited: (worker: ClientWorker) => void
}

/** One sandbox process that serves clients of one solution version. */
export interface ClientWorker {
  readonly key: string
  readonly pid: number
  /** The number of clients, including those that are still opening. */
  readonly clientCount: () => number
  /** The number of running and queued calls. */
  readonly callCount: () => number
  /** When a call or client last started or ended, in epoch ms. */
  readonly lastUsed: () => number
  /** @returns null if other clients caused the process to terminate in the meantime */
  readonly open: (handlers: LogHandler) => Promise<SandboxClient | Failed | null>
  /** Ends the process once it has no clients. */
  readonly retire: () => void
  readonly kill: () => void
  /** Whether the process was killed or has exited, so that nothing more may be sent to it. */
  readonly isEnding: () => boolean
  /** Kills the process if it did not respond to the last ping. */
  readonly checkHeartbeat: () => void
  /** For debugging; null unless the process was started for it. */
  readonly debug: SandboxProcess['debug']
}

/** Maximum queued calls per client. No person clicks this fast. */
const MOST_WAITING = 100

export function createClientWorker(
  process: SandboxProcess,
  key: string,
  solution: SandboxSolution,
  limits: Limits,
  events: ClientWorkerEvents,
): ClientWorker {
  const clients = new Map<number, HeldClient>()
  const end = createProcessEnd<ClientCall>(process)
  const calls = createClientCalls(process, limits, end, { sent: callSent, ended: callEnded })
  const watch = createClientWorkerWatch(process, limits, end, calls)
  let lastId = 0
  let lastUsed = Date.now()
  let retiring = false

  // The limit counts characters, which take at most three bytes each.
  process.allowLargeFrames(MAX_CALL_FRAME + 3 * limits.CLIENT_COMMANDS_SIZE)
  process.onMessage = receive
  process.onEnd = lose
  process.onExit = () => events.exited(created)
  process.send({ kind: 'serve', solution, ...(process.debug === null ? {} : { debug: true }) })

  function receive(message: FromSandbox): void {
    if (message.kind === 'pong') watch.answered()
    else if (message.kind === 'gone') isolateGone(message.clients)
    else if (message.kind === 'hung' && !calls.has(message.id)) watch.killHung()
    else if ('id' in message) calls.receive(message)
  }

  function callSent(): void {
    lastUsed = Date.now()
    watch.start()
  }

  function callEnded(call: ClientCall, outcome: Outcome): void {
    if (outcome.code === 'script_memory') watch.outOfMemory(call)
    lastUsed = Date.now()
    watch.stopIfQuiet()
  }

  function isolateGone(lost: readonly number[]): void {
    // After an isolate ran out of memory, the next one may hang under a debugger (isolated-vm 7.0.1).
    if (process.debug !== null) end.kill('well')
    for (const id of lost) loseClient(id)
  }

  function loseClient(id: number, message = 'the client was closed because its isolate failed'): void {
    const client = clients.get(id)
    if (client === undefined) return
    clients.delete(id)
    client.isGone = true
    for (const call of [client.running ?? [], client.waiting.splice(0)].flat()) {
      calls.forget(call)
      call.settle(end.failed.get(call) ?? goneOutcome(call, message))
    }
    client.running = null
    client.leave()
    if (clients.size === 0 && retiring) end.kill('well')
  }

  function createClient(client: HeldClient, gone: Promise<void>): SandboxClient {
    return {
      gone,
      call(call, handlers) {
        const { promise, resolve } = Promise.withResolvers<ClientOutcome>()
        const id = ++lastId
        const message = { kind: 'enter', client: client.id, id, call } as const
        const added = clientCall(message, handlers, call.timeLimit, resolve, limits)
        if (client.isGone) resolve(goneOutcome(added, 'the client is already closed'))
        else if (client.waiting.length >= MOST_WAITING) resolve(tooMany())
        else calls.add(client, added)
        return promise
      },
      close() {
        if (client.isGone) return
        process.send({ kind: 'close', client: client.id })
        // A running call may continue until its time limit.
        if (client.running) watch.watchFor(client.running.clock.allowed + HUNG_TIME)
        loseClient(client.id, 'the client was closed')
        watch.stopIfQuiet()
      },
    }
  }

  async function open(handlers: LogHandler): Promise<SandboxClient | Failed | null> {
    const { promise: opened, resolve } = Promise.withResolvers<ClientOutcome>()
    const { promise: gone, resolve: leave } = Promise.withResolvers<void>()
    const client: HeldClient = { id: ++lastId, waiting: [], running: null, isGone: false, leave }
    const id = ++lastId
    clients.set(client.id, client)
    calls.add(client, clientCall({ kind: 'open', client: client.id, id }, handlers, 'LOAD_TIME', resolve, limits))
    const outcome = await opened
    if (outcome.code === 'client_gone') return null
    if (outcome.code === 'returned') return createClient(client, gone)
    loseClient(client.id)
    return outcome
  }

  /**
   * @param byOthers whether something other than the host killed the process, such as the kernel when memory runs out
   */
  function lose(byOthers: boolean): void {
    watch.stop()
    const running = calls.running()
    const [only] = running
    const killed = end.killed()
    if (killed === null && !byOthers && only !== undefined && running.length === 1) end.crashedThrough(only)
    const wentWell = killed === 'well' || (killed === null && byOthers)
    const culprits = end.failed.size > 0 ? [...end.failed.keys()] : suspects(running)
    for (const id of [...clients.keys()]) loseClient(id, 'the client was closed because its sandbox process exited')
    events.gone(
      created,
      wentWell,
      culprits.map(({ handlers }) => handlers),
    )
  }

  /** If it is unknown which call caused this, any running call may be the cause. */
  function suspects(running: readonly ClientCall[]): readonly ClientCall[] {
    const blamed = watch.blamed()
    return blamed === null ? running : [blamed]
  }

  const created: ClientWorker = {
    key,
    pid: process.pid,
    clientCount: () => clients.size,
    callCount: () =>
      [...clients.values()].reduce((sum, { waiting, running }) => sum + waiting.length + (running ? 1 : 0), 0),
    lastUsed: () => lastUsed,
    open: async (handlers) => (process.ended() ? null : open(handlers)),
    retire() {
      retiring = true
      if (clients.size === 0) end.kill('well')
    },
    kill: () => end.kill('well'),
    isEnding: process.ended,
    debug: process.debug,
    checkHeartbeat() {
      if (watch.isSilent()) return end.kill('error')
      watch.watchMemory()
      watch.ask()
    },
  }
  return created
}

function goneOutcome({ clock, changedSomething }: ClientCall, message: string): ClientGone {
  const started = clock.startedAt() !== null
  return { code: 'client_gone', message, started, changedSomething, milliseconds: clock.elapsed() }
}

function tooMany(): Failed {
  return {
    code: 'sandbox_busy',
    message: `${MOST_WAITING} calls from this client are already queued, which is the maximum; try again later`,
    milliseconds: 0,
  }
}
