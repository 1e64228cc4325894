import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import type { Limits } from '../../runtime/limits.ts'
import type { Json, Plugin, SolutionFacts, Tables } from '../../runtime/plugin.ts'
import type { SandboxSolution } from '../../runtime/protocol.ts'
import { type PreparedSolution, unitsOf } from './prepared-solution.ts'

const BOOTSTRAP = new URL('../../runtime/sandbox/guest.ts', import.meta.url)

/** Makes what a sandbox process loads, from a prepared solution and the plugins' guest parts. */
export type SandboxSolutionMaker = (facts: SolutionFacts, prepared: PreparedSolution) => SandboxSolution

/** Reads the guest parts once. These are the platform's and the operator's own sources, so the host may strip them. */
export function createSandboxSolutionMaker(plugins: readonly Plugin[], limits: Limits): SandboxSolutionMaker {
  const guests = [
    { name: 'bootstrap', source: readGuest(BOOTSTRAP) },
    ...plugins.map(({ name, guest }) => ({ name, source: readGuest(guest) })),
  ]
  return (facts, prepared) => {
    const settings: Record<string, Json> = {}
    const tables: Record<string, Tables> = {}
    for (const plugin of plugins) {
      if (plugin.settings) settings[plugin.name] = plugin.settings(facts)
      if (plugin.tables) tables[plugin.name] = plugin.tables(facts)
    }
    return {
      scripts: prepared.scripts.map(({ file, source }) => ({ file, source })),
      units: unitsOf(prepared),
      guests,
      settings,
      tables,
      limits,
    }
  }
}

function readGuest(file: URL): string {
  const source = readFileSync(file, 'utf8')
  return file.pathname.endsWith('.ts') ? stripTypeScriptTypes(source, { mode: 'strip' }) : source
}
