import { hash } from 'node:crypto'
import type { DatabasePorts } from '../../plugins/database/host.ts'
import type { HttpPorts } from '../../plugins/http/host.ts'
import type { Fault, Warning } from '../../runtime/bundle/faults.ts'
import type { Manifest } from '../../runtime/bundle/manifest.ts'
import { type Bundle, readBundle } from '../../runtime/bundle/read-bundle.ts'
import { createLimits, type Limits } from '../../runtime/limits.ts'
import { type Plugin, ScriptError } from '../../runtime/plugin.ts'
import { createSupervisor } from '../../runtime/supervisor.ts'
import { builtInPlugins, usableTrusted } from '../plugins.ts'
import { packFiles } from '../solutions/examples.ts'
import { createSandboxSolutionMaker } from '../solutions/sandbox-solution.ts'
import { createBundleCheck } from '../solutions/upload.ts'
import type { SolutionFolder } from './solution-folder.ts'

export type CheckedSolution = {
  readonly packed: Buffer
  /** Of the packed bytes, lower-case hex. */
  readonly sha256: string
  /** Null where it cannot be read. */
  readonly manifest: Manifest | null
  readonly faults: readonly Fault[]
  readonly warnings: readonly Warning[]
}

const limits = createLimits()

/**
 * Packs a solution and checks it as an upload is checked: zip and manifest here, all else in a sandbox process, where its
 * scripts are loaded too. No host has to run. Limits and plugins are those of a host without settings of its own.
 */
export async function checkSolution(folder: SolutionFolder): Promise<CheckedSolution> {
  const { bundle, ...read } = await readPacked(folder)
  if (bundle === null) return read
  const plugins = pluginsForChecks(limits)
  const makeSandboxSolution = createSandboxSolutionMaker(plugins)
  const trusted = usableTrusted(plugins, makeSandboxSolution, limits)
  const supervisor = createSupervisor({ limits, trusted, timeZone: 'Etc/UTC' })
  try {
    const checked = await createBundleCheck({ supervisor, makeSandboxSolution, limits })(bundle)
    return { ...read, faults: checked.faults, warnings: [...read.warnings, ...checked.warnings] }
  } finally {
    supervisor.stop()
  }
}

/** The platform's plugins where bundles are only checked: scripts find the bindings, and nothing is behind them. */
export function pluginsForChecks(limits: Limits): readonly Plugin[] {
  return builtInPlugins('none', limits, { database: NO_DATABASE, http: NO_HTTP })
}

/** The same without what needs a sandbox process. */
export async function packSolution(folder: SolutionFolder): Promise<CheckedSolution> {
  const { bundle: _, ...read } = await readPacked(folder)
  return read
}

async function readPacked({ files }: SolutionFolder): Promise<CheckedSolution & { readonly bundle: Bundle | null }> {
  const packed = await packFiles(files)
  const { bundle, faults, warnings } = await readBundle(packed, limits)
  return { packed, sha256: hash('sha256', packed, 'hex'), manifest: bundle?.manifest ?? null, faults, warnings, bundle }
}

// The bindings must be there, as scripts find them on a host; while scripts load nothing can be asked of them anyway.
const NO_DATABASE: DatabasePorts = { query: () => refuse('databases') }
const NO_HTTP: HttpPorts = { granted: async () => [], send: () => refuse('other servers'), onRefused: () => {} }

function refuse(what: string): Promise<never> {
  return Promise.reject(new ScriptError(`there are no ${what} while a solution is checked`))
}
