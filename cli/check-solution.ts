import { hash } from 'node:crypto'
import { createBundleCheck } from '../base/bundles/check-bundle.ts'
import { packFiles } from '../base/bundles/pack.ts'
import { usableTrusted } from '../base/bundles/plugins.ts'
import { pluginsForChecks } from '../base/bundles/plugins-for-checks.ts'
import { createSandboxSolutionMaker } from '../base/bundles/sandbox-solution.ts'
import type { Bundle } from '../runtime/bundle/bundle.ts'
import type { Fault, Warning } from '../runtime/bundle/faults.ts'
import type { Manifest } from '../runtime/bundle/manifest.ts'
import { readBundle } from '../runtime/bundle/read-bundle.ts'
import { createLimits } from '../runtime/limits.ts'
import { createSupervisor } from '../runtime/supervisor.ts'
import type { SolutionFolder } from './solution-folder.ts'

export type CheckedSolution = {
  readonly packed: Buffer
  /** SHA-256 of the packed bundle, lowercase hex. */
  readonly sha256: string
  /** Null if the manifest cannot be read. */
  readonly manifest: Manifest | null
  readonly modules: Bundle['modules']
  readonly faults: readonly Fault[]
  readonly warnings: readonly Warning[]
}

const limits = createLimits()

/**
 * Packs a solution and runs the same checks as an upload. This process checks the ZIP file and the manifest. A sandbox
 * process checks everything else and loads the scripts. No running host is needed. Uses the default limits and the
 * built-in plugins.
 */
export async function checkSolution(folder: SolutionFolder): Promise<CheckedSolution> {
  const { bundle, ...read } = await readPacked(folder)
  if (bundle === null) return read
  const plugins = pluginsForChecks(limits)
  const makeSandboxSolution = createSandboxSolutionMaker(plugins)
  const trusted = usableTrusted(plugins, makeSandboxSolution, limits)
  const supervisor = createSupervisor({ limits, trusted, timeZone: 'Etc/UTC', keepsSpare: false })
  try {
    const checked = await createBundleCheck({ supervisor, makeSandboxSolution, limits })(bundle)
    return { ...read, faults: checked.faults, warnings: [...read.warnings, ...checked.warnings] }
  } finally {
    supervisor.stop()
  }
}

/** Packs and checks a solution, without the checks that need a sandbox process. */
export async function packSolution(folder: SolutionFolder): Promise<CheckedSolution> {
  const { bundle: _, ...read } = await readPacked(folder)
  return read
}

async function readPacked({ files }: SolutionFolder): Promise<CheckedSolution & { readonly bundle: Bundle | null }> {
  const packed = await packFiles(files)
  const { bundle, faults, warnings } = await readBundle(packed, limits)
  return {
    packed,
    sha256: hash('sha256', packed, 'hex'),
    manifest: bundle?.manifest ?? null,
    modules: bundle?.modules ?? [],
    faults,
    warnings,
    bundle,
  }
}
