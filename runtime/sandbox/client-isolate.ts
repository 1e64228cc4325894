import type { SandboxCall } from '../protocol.ts'
import { type LoadFault, loadFailure } from './call-end.ts'
import type { Client } from './client.ts'
import { type ClientScripts, createClientLoader } from './client-loader.ts'
import { createClientSteps } from './client-steps.ts'
import { now as monotonic } from './clock.ts'
import { type Loading, TRUSTED } from './isolate.ts'
import { createIsolateCalls, type IsolateCallsEvents, QUEUE_TIME } from './isolate-calls.ts'
import { createLane } from './lane.ts'
import { createLoadFaults } from './load-faults.ts'
import { createSweeper } from './sweeper.ts'

export type Probed = { readonly found: readonly string[]; readonly fault: LoadFault | null }

/** One isolate for clients. Everything in it runs on its own thread, one step at a time. */
export interface ClientIsolate {
  /** The number of running and queued steps. */
  readonly load: () => number
  readonly size: () => number
  readonly isLost: () => boolean
  readonly clients: () => Iterable<Client>
  /**
   * Creates the client's context. The result is reported like the end of a call. A client that can't be opened is
   * dropped.
   */
  open(client: Client, call: number): void
  enter(client: Client, call: number, what: SandboxCall): void
  /**
   * Creates a client's context only to check whether the scripts can be loaded. @returns the entry functions that exist
   */
  probe(client: Client, call: number, entries: readonly string[], loading: Loading): Promise<Probed>
  /** @param text a response, as the JSON text that calls.guest.ts reads */
  answer(client: Client, text: string): void
  close(client: Client): void
  dispose(): void
}

export type ClientIsolateOptions = ClientScripts & {
  readonly events: IsolateCallsEvents
  /** Set only if the isolate can be debugged. A clock in ms that stops while a debugger pauses the isolate. */
  readonly debugClock?: (() => number) | undefined
}

export function createClientIsolate(options: ClientIsolateOptions): ClientIsolate {
  const { isolate, limits, files, events, debugClock } = options
  const now = debugClock ?? monotonic
  const isDebugged = debugClock !== undefined
  const clients = new Set<Client>()
  const lane = createLane()
  const faults = createLoadFaults(isolate, limits, files)
  const calls = createIsolateCalls(isolate, limits, clients, events, now)
  const sweeper = createSweeper(isolate, calls)
  const loader = createClientLoader({ ...options, faults, calls, sweeper, now, isDebugged })
  const steps = createClientSteps({ isolate, limits, files, calls, sweeper, isDebugged })

  /** Runs a call's `step` when its turn comes. @param waiting called instead of `step` if the wait took too long */
  function inTurn(client: Client, step: () => Promise<void>, waiting: () => void): void {
    const since = now()
    lane.run(async () => {
      if (calls.isLost() || client.closed) return
      if (now() - since > QUEUE_TIME) waiting()
      else await step()
    })
  }

  async function openNow(client: Client, id: number): Promise<void> {
    const call = calls.begin(client, id, 'LOAD_TIME', limits.LOAD_TIME as number)
    try {
      await loader.load(client, call)
      if (calls.isLost()) return
      const milliseconds = call.clock.elapsed()
      calls.end(client, call, {
        ok: true,
        json: `{"ok":true,"result":null,"commands":[],"milliseconds":${milliseconds}}`,
      })
    } catch (error) {
      if (calls.isLost()) return
      if (isolate.isDisposed) return calls.loseMemory(call)
      const fault = faults.of(error)
      if (fault.code === 'script_timeout') await steps.sweep(client, call)
      const failure = loadFailure(fault, limits, call.clock.elapsed())
      clients.delete(client)
      release(client)
      calls.end(client, call, failure)
    }
  }

  async function probeNow(client: Client, id: number, entries: readonly string[]): Promise<Probed> {
    const call = calls.begin(client, id, 'LOAD_TIME', limits.LOAD_TIME as number)
    const timeout = call.clock.allowed
    const found: string[] = []
    const outOfMemory = () => faults.outOfMemory(loader.lastFile())
    try {
      await loader.load(client, call)
      if (client.loaded === null || calls.isLost()) return { found, fault: outOfMemory() }
      for (const entry of entries) {
        const script = await isolate.compileScript(`typeof ${entry} === 'function'`, { filename: TRUSTED })
        const run = script.run(client.loaded.context, { timeout })
        const isThere = await calls.watched(call, timeout, run)
        if (isThere === true) found.push(entry)
      }
      return { found, fault: calls.isLost() ? outOfMemory() : null }
    } catch (error) {
      return { found: [], fault: isolate.isDisposed ? outOfMemory() : faults.of(error) }
    }
  }

  function release({ loaded }: Client): void {
    if (loaded === null || isolate.isDisposed) return
    loaded.enter.release()
    loaded.context.release()
  }

  return {
    load: lane.length,
    size: () => clients.size,
    isLost: calls.isLost,
    clients: () => clients,
    open(client, call) {
      clients.add(client)
      inTurn(
        client,
        () => openNow(client, call),
        () => {
          clients.delete(client)
          calls.endBusy(client, calls.begin(client, call, 'LOAD_TIME', 0))
        },
      )
    },
    enter(client, call, what) {
      inTurn(
        client,
        () => steps.enter(client, call, what),
        () => calls.endBusy(client, calls.begin(client, call, what.timeLimit, 0)),
      )
    },
    probe(client, call, entries, onLoading) {
      loader.reportTo(onLoading)
      clients.add(client)
      return probeNow(client, call, entries)
    },
    answer(client, text) {
      const { call } = client
      if (call === null) return
      call.answers++
      // Don't stop the clock while a step of the call runs; `wait` checks for responses afterwards.
      if (call.clock.hasAlarm()) call.clock.stop()
      inTurn(
        client,
        async () => {
          call.answers--
          if (client.call !== call) return
          if (call.clock.waited() > QUEUE_TIME) calls.endBusy(client, call)
          else await steps.step(client, call, [text])
        },
        () => calls.endBusy(client, call),
      )
    },
    close(client) {
      if (client.closed) return
      client.closed = true
      clients.delete(client)
      client.call?.clock.cancelAlarm()
      // Queue this after any running step. Later steps see that the client is closed.
      lane.run(async () => release(client))
    },
    dispose: calls.dispose,
  }
}
