import type { Position } from '../outcome.ts'
import type { SandboxCall } from '../protocol.ts'
import { brokenOff, callText, cutOffAt, endOf, type FailedEnd, timedOut } from './call-end.ts'
import type { Client, LoadedClient, OpenCall } from './client.ts'
import { type Context, finderSource, type Isolate, type Reference, type Script, TRUSTED } from './isolate.ts'
import type { IsolateCalls } from './isolate-calls.ts'
import type { Sweeper } from './sweeper.ts'

/** Matches the platform's own entry functions, which the guest resolves itself. */
const OWN_ENTRY = /^[A-Za-z_$][\w$]{0,62}\.[a-zA-Z]{1,30}$/
const ENTRY = /^[A-Za-z_$][\w$]{0,99}$/

export type ClientStepsOptions = {
  readonly isolate: Isolate
  readonly limits: Readonly<Record<string, number>>
  readonly files: ReadonlySet<string>
  readonly calls: IsolateCalls
  readonly sweeper: Sweeper
  readonly isDebugged: boolean
}

/**
 * Runs the steps of clients' calls. A step runs until the call ends or waits for a response; the response starts the
 * next step.
 */
export function createClientSteps({ isolate, limits, files, calls, sweeper, isDebugged }: ClientStepsOptions) {
  const finders = new Map<string, Script>()

  async function enter(client: Client, id: number, what: SandboxCall): Promise<void> {
    const call = calls.begin(client, id, what.timeLimit, limits[what.timeLimit] as number)
    const isOwn = OWN_ENTRY.test(what.entry)
    if (client.loaded === null || !(isOwn || ENTRY.test(what.entry))) {
      const message = client.loaded === null ? 'the scripts are not loaded' : 'the function’s name is invalid'
      calls.end(client, call, brokenOff(new TypeError(message), 0, files))
      return
    }
    const { finders: known, context } = client.loaded
    const args: unknown[] = [callText(what, { number: id, counted: client.counted })]
    try {
      if (!isOwn && !known.has(what.entry)) args.push(await findBy(call, context, what.entry))
    } catch (error) {
      if (isolate.isDisposed) calls.loseMemory(call)
      else calls.end(client, call, brokenOff(error, call.clock.elapsed(), files))
      return
    }
    if (calls.isLost()) return
    known.add(what.entry)
    await step(client, call, args)
  }

  /** Finds an entry function. Scripts can't detect the search, because it runs none of their code. */
  async function findBy(call: OpenCall, context: Context, entry: string) {
    const script = finders.get(entry) ?? (await isolate.compileScript(finderSource(entry), { filename: TRUSTED }))
    finders.set(entry, script)
    const timeout = call.clock.allowed
    const run = script.run(context, { reference: true, timeout })
    const found = (await calls.watched(call, timeout, run)) as Reference | null
    return found?.derefInto({ release: true })
  }

  /** Lets the guest continue a call, for no longer than the call's remaining time. */
  async function step(client: Client, call: OpenCall, args: unknown[]): Promise<void> {
    const { clock } = call
    const timeout = clock.run()
    try {
      const entered = (client.loaded as LoadedClient).enter.apply(undefined, args, { timeout }) as Promise<string>
      const answered = await calls.watched(call, timeout, entered)
      if (answered === null) return
      const result = answered === '' ? call.result : answered
      if (result === null) wait(client, call)
      else conclude(client, call, result)
    } catch (error) {
      if (calls.isLost()) return
      if (isolate.isDisposed) return calls.loseMemory(call)
      const isOver = clock.left() < 1
      if (isOver) await sweep(client, call)
      if (calls.isLost()) return
      calls.end(client, call, isOver ? overdue(call, cutOffAt(error, files)) : brokenOff(error, clock.elapsed(), files))
    }
  }

  /** Ends the call with the result reported by the guest. */
  function conclude(client: Client, call: OpenCall, result: string): void {
    const how = endOf(result, call.clock.elapsed(), files)
    if (how.ok && client.call === call) client.counted = call.id
    calls.end(client, call, how)
  }

  /**
   * Called when a call starts to wait for a response. The call's clock keeps running, unless a response is already
   * queued.
   */
  function wait(client: Client, call: OpenCall): void {
    const { clock } = call
    if (call.answers > 0) clock.stop()
    else clock.alarm(clock.run(), endIfOver)

    function endIfOver(): void {
      // The clock of a debugged call may have been paused in the meantime. Otherwise, any remaining time is only due to
      // timer inaccuracy.
      if (isDebugged && clock.run() > 1) wait(client, call)
      else calls.end(client, call, overdue(call))
    }
  }

  function overdue({ limitName, clock }: OpenCall, where?: Position): FailedEnd {
    return timedOut(limitName, clock.allowed, clock.elapsed(), where)
  }

  function sweep(client: Client, call: OpenCall): Promise<void> {
    return sweeper.sweep(client, call, () => overdue(call))
  }

  return { enter, step, sweep }
}
