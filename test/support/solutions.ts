import { randomUUID } from 'node:crypto'
import { type ActiveSolution, activeSolution } from '../../base/bundles/active-solution.ts'
import { builtInPlugins, type PluginNeeds } from '../../base/bundles/plugins.ts'
import type { PreparedSolution } from '../../base/bundles/prepared-solution.ts'
import { createSandboxSolutionMaker } from '../../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../../base/bundles/trusted.ts'
import { createGuestBindings } from '../../host/solutions/guest-bindings.ts'
import { createEntryRunner, type EntryResult, type EntryRunner } from '../../host/solutions/run-entry.ts'
import type { NewLogLine, SolutionLog } from '../../host/solutions/solution-log.ts'
import { checkManifest, type Manifest } from '../../runtime/bundle/manifest.ts'
import { createLimits, type LimitName } from '../../runtime/limits.ts'
import type { GuestLogLine } from '../../runtime/outcome.ts'
import type { Json, Plugin } from '../../runtime/plugin.ts'
import type { UploadFiles } from '../../runtime/protocol.ts'
import { namesOf, readTopLevel } from '../../runtime/sandbox/realm-names.ts'
import { createSupervisor, type Supervisor, type SupervisorOptions } from '../../runtime/supervisor.ts'

/** The files of an upload without any file. */
export const NO_FILES = {
  ...{ scripts: [], formScripts: [], forms: [], i18n: [], media: [] },
  ...{ loginTemplate: null, permissions: [], isolateMemory: 64 },
} satisfies UploadFiles

/** Returns a complete manifest with these properties. */
export function manifestOf(written: Record<string, unknown>): Manifest {
  const { manifest, faults } = checkManifest({ name: 'probe', version: '1.0.0', ...written }, 'solution.json')
  if (manifest === null) throw new TypeError(JSON.stringify(faults))
  return manifest
}

export type ScriptRun = {
  /** The authenticator's script. */
  readonly script: string
  /**
   * Whether to evaluate the script in a solution version that all such runs share. This saves starting a process. Use
   * it only for tests that don't depend on positions in the script or on how scripts are loaded.
   */
  readonly evaluated?: boolean
  readonly file?: string
  readonly queryParams?: Record<string, Json>
  readonly arg?: string | null
  readonly kind?: 'login' | 'open'
  readonly entry?: 'onSolutionOpen' | 'getOAuthConfig'
  readonly locale?: string
  readonly user?: {
    readonly username: string
    readonly uid: string
    readonly permissions: readonly string[]
    readonly tenant: readonly (string | number)[] | null
  } | null
}

/**
 * The script of the solution version that all runs with `evaluated` share. It evaluates the code in a query parameter.
 */
const EVALUATES = `function taken(queryParams, entry) {
  const { evaluated } = queryParams
  delete queryParams.evaluated
  return (0, eval)(evaluated + '\\n;' + entry)
}
function onSolutionOpen(arg, queryParams) { return taken(queryParams, 'onSolutionOpen')(arg, queryParams) }
function getOAuthConfig(queryParams) { return taken(queryParams, 'getOAuthConfig')(queryParams) }`

export type ScriptEnd = EntryResult & { readonly log: readonly (NewLogLine & GuestLogLine)[] }

export type ScriptLab = {
  readonly run: (run: ScriptRun) => Promise<ScriptEnd>
  /** Ends the process of a script that no test runs again. Idle processes use CPU time too. */
  readonly retire: (run: Pick<ScriptRun, 'script' | 'file'>) => void
  /**
   * Runs this function body in the sandbox.
   * @returns the parsed result
   */
  readonly evaluate: (body: string, options?: Omit<ScriptRun, 'script'>) => Promise<unknown>
  /** Creates a solution from these parts, for tests that call its entry functions. */
  readonly solution: (parts: Partial<PreparedSolution> & Pick<PreparedSolution, 'manifest'>) => ActiveSolution
  readonly runEntry: EntryRunner
  readonly lines: readonly (NewLogLine & GuestLogLine)[]
  readonly supervisor: Supervisor
  readonly stop: () => void
}

/** Runs scripts in real sandbox processes with the real plugins, but without HTTP or a database. */
export function createScriptLab(
  options: {
    readonly limits?: Partial<Record<LimitName, number>>
    readonly manifest?: Record<string, unknown>
    readonly texts?: PreparedSolution['texts']
    readonly forms?: readonly string[]
    readonly plugins?: readonly Plugin[]
    readonly needs?: PluginNeeds
    readonly memory?: SupervisorOptions['memory']
    readonly bound?: SupervisorOptions['bound']
    readonly keepsCheckReady?: boolean
    readonly keepsSpare?: boolean
    readonly processes?: Pick<SupervisorOptions, 'debugNode' | 'notStarted'>
  } = {},
): ScriptLab {
  const limits = createLimits(options.limits)
  const plugins = [...builtInPlugins('none', limits, options.needs), ...(options.plugins ?? [])]
  const makeSandboxSolution = createSandboxSolutionMaker(plugins)
  const trusted = readTrusted(plugins, makeSandboxSolution, limits)
  const memory = options.memory ? { memory: options.memory } : {}
  const { keepsCheckReady = false, keepsSpare = true, bound } = options
  const supervisor = createSupervisor({
    limits,
    trusted,
    timeZone: 'Etc/UTC',
    ...memory,
    bound,
    keepsCheckReady,
    keepsSpare,
    ...options.processes,
  })
  const lines: (NewLogLine & GuestLogLine)[] = []
  const log = { write: (_solution: string, line: NewLogLine) => void lines.push(line) } as unknown as SolutionLog
  const bindings = createGuestBindings({ plugins, limits, onPluginError: () => {} })
  const isHardened = options.manifest?.realm === 'hardened'
  const runEntry = createEntryRunner({ supervisor, bindings, log })
  const solutions = new Map<string, ActiveSolution>()

  function solutionOf(script: string, file = 'modules/auth/globals.js'): ActiveSolution {
    const key = `${file} ${script}`
    const made =
      solutions.get(key) ?? activeSolution(`sha-${solutions.size}`, preparedOf(script, file), makeSandboxSolution)
    solutions.set(key, made)
    return made
  }

  function preparedOf(source: string, file: string): PreparedSolution {
    const manifest = manifestOf({ authenticator: 'AUTHENTICATOR', modules: ['auth'], ...options.manifest })
    const auth = manifestOf({ name: 'auth', type: 'authenticator' })
    return {
      manifest,
      modules: [{ name: 'auth', manifest: auth }],
      scripts: [
        {
          module: 'auth',
          file,
          source,
          ...(isHardened ? { realm: namesOf(readTopLevel('', source, undefined)) } : {}),
        },
      ],
      formScripts: [],
      forms: (options.forms ?? []).map((form) => ({ module: null, form, definition: { layout: [] } })),
      texts: options.texts ?? {},
      template: null,
      entries: { authenticator: ['onSolutionOpen'] },
      warnings: [],
    }
  }

  const lab: ScriptLab = {
    solution(parts) {
      const empty = { modules: [], scripts: [], formScripts: [], forms: [], texts: {}, template: null }
      const prepared: PreparedSolution = { ...empty, entries: {}, warnings: [], ...parts }
      return activeSolution(randomUUID(), prepared, makeSandboxSolution)
    },
    runEntry,
    lines,
    supervisor,
    stop: () => supervisor.stop(),
    async run(run) {
      const from = lines.length
      const { arg = null, kind = 'login' } = run
      const { entry = 'onSolutionOpen' } = run
      // The hardened realm has no eval, so evaluated scripts can't be used there.
      const evaluated = run.evaluated === true && !isHardened
      const queryParams = evaluated ? { ...run.queryParams, evaluated: run.script } : (run.queryParams ?? {})
      const result = await runEntry(solutionOf(evaluated ? EVALUATES : run.script, run.file), {
        unit: 'authenticator',
        entry,
        args: entry === 'onSolutionOpen' ? [arg, queryParams] : [queryParams],
        secrets: new Map(),
        call: {
          kind: entry === 'onSolutionOpen' ? kind : 'configuration',
          correlationId: 'TEST0-00000',
          user: run.user ?? null,
          account: null,
          address: '127.0.0.1',
          locale: run.locale ?? 'en',
          serverUrl: 'http://127.0.0.1:8080',
        },
      })
      return { ...result, log: lines.slice(from) }
    },
    retire: ({ script, file }) => supervisor.retire(solutionOf(script, file).loadable.key),
    async evaluate(body, rest) {
      const script = `function onSolutionOpen(arg, queryParams) { const value = (() => { ${body} })(); return JSON.stringify({ value: value === undefined ? null : value }) }`
      const end = await lab.run({ ...rest, script, evaluated: true })
      if (end.failure) throw new Error(`${end.failure.code}: ${end.failure.message}`)
      return end.values.value
    },
  }
  return lab
}
