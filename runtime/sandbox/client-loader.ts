import type { SandboxFormScript, SandboxScript } from '../protocol.ts'
import { reportedFault } from './call-end.ts'
import type { Client, LoadedClient, OpenCall } from './client.ts'
import {
  type Callback,
  compileBeside,
  compileForm,
  type Isolate,
  type Loading,
  type Reference,
  type Script,
  START,
  scopeText,
} from './isolate.ts'
import type { IsolateCalls } from './isolate-calls.ts'
import type { LoadFaults } from './load-faults.ts'
import type { Sweeper } from './sweeper.ts'

type Compiled = { readonly scripts: readonly Script[]; readonly forms: readonly Script[] }

/** The scripts that an isolate for clients loads, and the data that its contexts need. */
export type ClientScripts = {
  readonly isolate: Isolate
  readonly limits: Readonly<Record<string, number>>
  readonly ask: Callback
  /** The plugins' settings for this solution, as JSON. */
  readonly settings: string
  /** The scripts that each client's context loads, in this order. */
  readonly scripts: readonly SandboxScript[]
  /** The forms' scripts, which are loaded after `scripts`. */
  readonly formScripts: readonly SandboxFormScript[]
  readonly files: ReadonlySet<string>
}

export type ClientLoaderOptions = ClientScripts & {
  readonly faults: LoadFaults
  readonly calls: IsolateCalls
  readonly sweeper: Sweeper
  readonly now: () => number
  readonly isDebugged: boolean
}

/** Creates clients' contexts and runs the solution's scripts in them. */
export function createClientLoader(options: ClientLoaderOptions) {
  const { isolate, limits, ask, settings, files, faults, sweeper, now, isDebugged } = options
  const { watched, isLost } = options.calls
  /** The compiled scripts; null until they have been compiled. */
  let compiled: Compiled | null = null
  /** The file whose top-level code ran last. It is reported if a probe crashes the isolate. */
  let loading = ''
  let reportLoading: Loading | null = null

  /** Creates the client's context and runs the scripts in it. @throws LoadFault, and any error from isolated-vm */
  async function load(client: Client, call: OpenCall): Promise<void> {
    compiled ??= await watched(call, Number.POSITIVE_INFINITY, compileAll())
    if (compiled === null) return
    const loaded = await watched(call, limits.LOAD_TIME as number, makeContext(client))
    if (loaded === null) return
    client.loaded = loaded
    const until = now() + (limits.LOAD_TIME as number)
    await runScripts(call, loaded, compiled.scripts, until)
    await runForms(call, loaded, compiled.forms, until)
  }

  async function compileAll(): Promise<Compiled> {
    await sweeper.getReady()
    const scripts = options.scripts.map((script) => compileBeside(isolate, script))
    const forms = options.formScripts.map((script) => compileForm(isolate, script))
    return { scripts: await Promise.all(scripts), forms: await Promise.all(forms) }
  }

  async function makeContext(client: Client): Promise<LoadedClient> {
    const context = await isolate.createContext({ inspector: isDebugged })
    const start = (await context.global.get(START, { reference: true })) as Reference
    const enter = (await start.apply(undefined, [ask, client.number, settings], {
      result: { reference: true },
    })) as Reference
    start.release()
    return { context, enter, finders: new Set() }
  }

  /** @throws LoadFault */
  async function runScripts(
    call: OpenCall,
    loaded: LoadedClient,
    scripts: readonly Script[],
    end: number,
  ): Promise<void> {
    const { context, enter } = loaded
    for (const [index, script] of scripts.entries()) {
      const { file = '', scope } = options.scripts[index] ?? {}
      noteLoading(file)
      const timeout = Math.max(1, Math.ceil(end - now()))
      try {
        if (scope === undefined) await watched(call, timeout, script.run(context, { timeout }))
        else {
          const view = (await watched(
            call,
            timeout,
            script.run(context, { timeout, reference: true }),
          )) as Reference | null
          if (isLost() || view === null) return
          const args = [scopeText(scope), view.derefInto({ release: true })]
          await watched(call, timeout, enter.apply(undefined, args, { timeout }))
        }
        if (isLost()) return
      } catch (error) {
        throw faults.ofTopLevel(file, error, now() >= end - 1)
      }
    }
  }

  /**
   * Runs the forms' scripts in order. Each returns a function, which the guest calls to get the form's functions.
   * @throws LoadFault
   */
  async function runForms(call: OpenCall, loaded: LoadedClient, forms: readonly Script[], end: number): Promise<void> {
    for (const [index, script] of forms.entries()) {
      if (isLost()) return
      const { file, form } = options.formScripts[index] as SandboxFormScript
      noteLoading(file)
      const timeout = Math.max(1, Math.ceil(end - now()))
      const text = JSON.stringify({ kind: 'script', name: form })
      let reported: string | null
      try {
        const created = (await script.run(loaded.context, { reference: true, timeout })) as Reference
        const args = [text, created.derefInto({ release: true })]
        reported = await watched(call, timeout, loaded.enter.apply(undefined, args, { timeout }) as Promise<string>)
      } catch (error) {
        throw faults.ofTopLevel(file, error, now() >= end - 1)
      }
      if (reported !== null && reported !== '') throw reportedFault(reported, file, files)
    }
  }

  function noteLoading(file: string): void {
    loading = file
    reportLoading?.(file)
  }

  return {
    load,
    /** Returns the file whose top-level code ran last. */
    lastFile: () => loading,
    /** Sets a function that is called with each file before the file's code runs. */
    reportTo(onLoading: Loading): void {
      reportLoading = onLoading
    },
  }
}
