import { setTimeout as wait } from 'node:timers/promises'
import { type ActiveSolution, activeSolution } from '../../base/bundles/active-solution.ts'
import { createHostCall, type Effects, type HostCall } from '../../base/bundles/host-call.ts'
import { builtInPlugins } from '../../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../../base/bundles/trusted.ts'
import { createGuestBindings } from '../../host/solutions/guest-bindings.ts'
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

/** A request from a script. The test responds to it with `answer`. */
export type Asked = { readonly text: Json; readonly answer: (value: Json) => void }

export type ClientLab = {
  readonly supervisor: Supervisor
  /**
   * Creates a version of a solution. `forms` contains the forms by name. Each form has a definition, in which all
   * defaults are set, and possibly a script.
   */
  readonly version: (source: string, forms?: Readonly<Record<string, LabForm>>) => Loadable
  /**
   * Returns the same solution for the same source and forms, so its clients share a process. Starting a process takes
   * far longer than most tests.
   */
  readonly shared: (source: string, forms: Readonly<Record<string, LabForm>>) => ActiveSolution
  /**
   * Opens a client whose calls work as on a host: they get the same plugin data, and their commands are applied in the
   * same way.
   */
  readonly hosted: (source: string, forms?: Readonly<Record<string, LabForm>>) => Promise<HostedClient>
  /** Applies the commands in a call's outcome, as the host would. */
  readonly applied: (outcome: ClientOutcome, facts?: Partial<HostCall>) => HostedCall
  /**
   * Opens a client.
   * @throws Error if the client cannot be opened
   */
  readonly open: (version: Loadable) => Promise<LabClient>
  readonly tryOpen: (version: Loadable) => Promise<SandboxClient | Failed>
  readonly lines: readonly GuestLogLine[]
  /**
   * Waits until scripts have sent this many requests in total. Requests that the test has responded to are included.
   */
  readonly asked: (count: number) => Promise<readonly Asked[]>
  /** Returns the pids of the sandbox processes. */
  readonly pids: () => number[]
  readonly stop: () => void
}

/** A form. Its functions are the top-level functions in `script`. */
export type LabForm = { readonly definition: FormDefinition; readonly script?: string }

export type LabClient = SandboxClient & {
  /** Calls a function in the solution's script. */
  readonly run: (entry: string, ...args: Json[]) => Promise<ClientOutcome>
  /**
   * Calls a function.
   * @returns the function's result
   * @throws Error if the call failed
   */
  readonly result: (entry: string, ...args: Json[]) => Promise<string | null>
}

export type HostedCall = { readonly outcome: ClientOutcome; readonly effects: Effects }

export type HostedClient = {
  readonly call: (entry: string, args?: readonly Json[], facts?: Partial<HostCall>) => Promise<HostedCall>
  /**
   * Calls a function.
   * @returns the call's effects on the host
   * @throws Error if the call failed
   */
  readonly effects: (entry: string, args?: readonly Json[], facts?: Partial<HostCall>) => Promise<Effects>
  /**
   * Calls a function.
   * @returns the function's result
   * @throws Error if the call failed
   */
  readonly result: (entry: string, args?: readonly Json[], facts?: Partial<HostCall>) => Promise<string | null>
  readonly close: () => void
}

/**
 * Runs clients in real sandbox processes, without HTTP or a database. The test itself responds to calls of
 * `probe.ask(text)`.
 */
export function createClientLab(
  options: {
    readonly limits?: Partial<Record<LimitName, number>>
    readonly memory?: SupervisorOptions['memory']
    readonly manifest?: Record<string, unknown>
  } = {},
): ClientLab {
  const limits = createLimits(options.limits)
  const plugins = [...builtInPlugins('none', limits), createProbe()]
  const makeSandboxSolution = createSandboxSolutionMaker(plugins)
  const trusted = readTrusted(plugins, makeSandboxSolution, limits)
  const memory = options.memory ? { memory: options.memory } : {}
  const supervisor = createSupervisor({ limits, trusted, timeZone: 'Etc/UTC', ...memory })
  const bindings = createGuestBindings({ plugins, limits, onPluginError: () => {} })
  const lines: GuestLogLine[] = []
  const requests: Asked[] = []
  const shared = new Map<string, ActiveSolution>()
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
      const state = {
        security: { signsIn: false, user: null, methods: [], press: null },
        i18n: 'en',
        application: null,
      }
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

  function hostCallOf(facts: Partial<HostCall> & Pick<HostCall, 'solution'>): HostCall {
    return createHostCall({
      kind: 'open',
      correlationId: '',
      user: null,
      account: null,
      address: '127.0.0.1',
      locale: 'en',
      serverUrl: 'http://127.0.0.1',
      messages: new Map(),
      ...facts,
    })
  }

  function apply(outcome: ClientOutcome, call: HostCall): HostedCall {
    if (outcome.code === 'returned') bindings.apply(call, outcome.commands)
    return { outcome, effects: call.effects }
  }

  function createHosted(client: SandboxClient, solution: ActiveSolution): HostedClient {
    async function call(entry: string, args: readonly Json[] = [], facts: Partial<HostCall> = {}) {
      const made = hostCallOf({ solution: solution.facts, ...facts })
      const state = bindings.stateOf(made)
      const outcome = await client.call({ unit: 'main', entry, args, state, timeLimit: 'CALL_TIME' }, handlers)
      return apply(outcome, made)
    }
    async function returned(...of: Parameters<HostedClient['call']>) {
      const { outcome, effects } = await call(...of)
      if (outcome.code !== 'returned') throw new Error(`${outcome.code}: ${outcome.message}`)
      return { outcome, effects }
    }
    return {
      call,
      effects: async (...of) => (await returned(...of)).effects,
      result: async (...of) => (await returned(...of)).outcome.result,
      close: () => client.close(),
    }
  }

  const lab = {
    supervisor,
    lines,
    solution(source: string, forms: Readonly<Record<string, LabForm>> = {}) {
      const manifest = manifestOf({ authenticator: 'NONE', ...options.manifest })
      const scripts = [{ module: null, file: 'globals.js', source }]
      const definitions = Object.entries(forms).map(([form, { definition }]) => ({ module: null, form, definition }))
      const formScripts = Object.entries(forms).map(([form, { script = '' }]) => {
        const { names: functions, bound } = topLevelFunctions(script) ?? { names: [], bound: [] }
        return { module: null, form, file: `forms/${form}.js`, source: script, functions, bound }
      })
      const parts = { manifest, modules: [], scripts, formScripts, forms: definitions, texts: {}, template: null }
      const prepared = { ...parts, entries: {}, warnings: [] }
      return activeSolution(`clients-${versions++}`, prepared, makeSandboxSolution)
    },
    version: (source: string, forms: Readonly<Record<string, LabForm>> = {}) => lab.solution(source, forms).loadable,
    shared(source: string, forms: Readonly<Record<string, LabForm>>) {
      const key = JSON.stringify([source, forms])
      const solution = shared.get(key) ?? lab.solution(source, forms)
      shared.set(key, solution)
      return solution
    },
    async hosted(source: string, forms: Readonly<Record<string, LabForm>> = {}) {
      const solution = lab.shared(source, forms)
      const opened = await supervisor.openClient(solution.loadable, handlers)
      if ('code' in opened) throw new Error(`${opened.code}: ${opened.message}`)
      return createHosted(opened, solution)
    },
    applied: (outcome: ClientOutcome, facts: Partial<HostCall> = {}) =>
      apply(outcome, hostCallOf({ solution: lab.solution('').facts, ...facts })),
    async open(version: Loadable) {
      const opened = await supervisor.openClient(version, handlers)
      if ('code' in opened) throw new Error(`${opened.code}: ${opened.message}`)
      return wrap(opened)
    },
    tryOpen: (version: Loadable) => supervisor.openClient(version, handlers),
    async asked(count: number) {
      while (requests.length < count) await wait(5)
      return requests
    },
    pids: () => supervisor.processes().flatMap(({ pid, clients }) => (clients === undefined ? [] : pid)),
    stop: () => supervisor.stop(),
  }
  return lab
}
