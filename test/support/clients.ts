import { builtInPlugins } from '../../host/plugins.ts'
import { activeSolution } from '../../host/solutions/catalog.ts'
import { createSandboxSolutionMaker } from '../../host/solutions/sandbox-solution.ts'
import { readTrusted } from '../../host/solutions/trusted.ts'
import type { FormDefinition } from '../../runtime/forms/form-definition.ts'
import { createLimits, type LimitName } from '../../runtime/limits.ts'
import type { Failed, GuestLogLine } from '../../runtime/outcome.ts'
import type { Json } from '../../runtime/plugin.ts'
import { topLevelFunctions } from '../../runtime/sandbox/top-level-names.ts'
import {
  type ClientOutcome,
  createSupervisor,
  type Loadable,
  type SandboxClient,
  type Supervisor,
  type SupervisorOptions,
} from '../../runtime/supervisor.ts'
import { createProbe } from './probe/host.ts'
import { manifestOf } from './solutions.ts'

/** A request of a script, which the test answers when it likes to. */
export type Asked = { readonly text: Json; readonly answer: (value: Json) => void }

export type ClientLab = {
  readonly supervisor: Supervisor
  /** `forms`: by name, a definition with all defaults and a script. */
  readonly version: (source: string, forms?: Readonly<Record<string, LabForm>>) => Loadable
  /** @throws Error when the client cannot be opened */
  readonly open: (version: Loadable) => Promise<LabClient>
  readonly tryOpen: (version: Loadable) => Promise<SandboxClient | Failed>
  readonly lines: readonly GuestLogLine[]
  /** Waits until so many requests came, those that were answered included. */
  readonly asked: (count: number) => Promise<readonly Asked[]>
  /** The pids of the processes for clients. */
  readonly pids: () => number[]
  readonly stop: () => void
}

/** The functions are those that `script` declares at its top level. */
export type LabForm = { readonly definition: FormDefinition; readonly script?: string }

export type LabClient = SandboxClient & {
  /** Calls a function of the scripts with texts. */
  readonly run: (entry: string, ...args: Json[]) => Promise<ClientOutcome>
  /** What it returned. @throws Error when it failed */
  readonly result: (entry: string, ...args: Json[]) => Promise<string | null>
}

/** Clients in real sandbox processes, without HTTP and database. `probe.ask(text)` is answered by the test. */
export function createClientLab(
  options: { readonly limits?: Partial<Record<LimitName, number>>; readonly memory?: SupervisorOptions['memory'] } = {},
): ClientLab {
  const limits = createLimits(options.limits)
  const plugins = [...builtInPlugins('none', limits), createProbe()]
  const makeSandboxSolution = createSandboxSolutionMaker(plugins)
  const trusted = readTrusted(plugins, makeSandboxSolution, limits)
  const memory = options.memory ? { memory: options.memory } : {}
  const supervisor = createSupervisor({ limits, trusted, timeZone: 'Etc/UTC', ...memory })
  const lines: GuestLogLine[] = []
  const requests: Asked[] = []
  let versions = 0

  const handlers = {
    log: (line: GuestLogLine) => void lines.push(line),
    request: (_plugin: string, method: string, args: readonly Json[]) => {
      const { promise, resolve } = Promise.withResolvers<Json>()
      requests.push({ text: args[0] ?? null, answer: resolve })
      return { changes: method !== 'ask' || args[0] === 'change', value: promise }
    },
  }

  function wrap(client: SandboxClient): LabClient {
    const run = (entry: string, ...args: Json[]) => {
      const state = { security: { kind: 'open', user: null }, i18n: 'en', application: null }
      return client.call({ unit: 'main', entry, args, state, timeLimit: 'CALL_TIME' }, handlers)
    }
    return {
      ...client,
      run,
      async result(entry, ...args) {
        const outcome = await run(entry, ...args)
        if (outcome.code !== 'returned') throw new Error(`${outcome.code}: ${outcome.message}`)
        return outcome.result
      },
    }
  }

  return {
    supervisor,
    lines,
    version(source, forms = {}) {
      const manifest = manifestOf({ authenticator: 'NONE' })
      const scripts = [{ module: null, file: 'globals.js', source }]
      const definitions = Object.entries(forms).map(([form, { definition }]) => ({ module: null, form, definition }))
      const formScripts = Object.entries(forms).map(([form, { script = '' }]) => {
        const functions = topLevelFunctions(script) ?? []
        return { module: null, form, file: `forms/${form}.js`, source: script, functions }
      })
      const parts = { manifest, modules: [], scripts, formScripts, forms: definitions, texts: {}, template: null }
      const prepared = { ...parts, entries: {}, warnings: [] }
      return activeSolution(`clients-${versions++}`, prepared, makeSandboxSolution).loadable
    },
    async open(version) {
      const opened = await supervisor.openClient(version, handlers)
      if ('code' in opened) throw new Error(`${opened.code}: ${opened.message}`)
      return wrap(opened)
    },
    tryOpen: (version) => supervisor.openClient(version, handlers),
    async asked(count) {
      while (requests.length < count) await new Promise(setImmediate)
      return requests
    },
    pids: () => supervisor.processes().flatMap(({ pid, clients }) => (clients === undefined ? [] : pid)),
    stop: () => supervisor.stop(),
  }
}
