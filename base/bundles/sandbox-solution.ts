import type { Json, Plugin, SolutionFacts, Tables } from '../../runtime/plugin.ts'
import type { SandboxSolution } from '../../runtime/protocol.ts'
import { formScriptsOf, type PreparedSolution, unitsOf } from './prepared-solution.ts'

/** Builds the data that a sandbox process loads, from a prepared solution and the plugins' guest parts. */
export type SandboxSolutionMaker = (facts: SolutionFacts, prepared: PreparedSolution) => SandboxSolution

export function createSandboxSolutionMaker(plugins: readonly Plugin[]): SandboxSolutionMaker {
  const ofAll = plugins.filter(({ clientsOnly }) => clientsOnly !== true)
  const ofClients = plugins.filter(({ clientsOnly }) => clientsOnly === true)
  return (facts, prepared) => ({
    scripts: prepared.scripts.map(({ module: _, ...script }) => script),
    ...(prepared.manifest.realm === 'hardened' ? { isHardened: true } : {}),
    units: unitsOf(prepared),
    ...dataOf(ofAll, facts),
    // Computed only when it is read, because a solution with many forms has a lot of this data.
    get clients() {
      return { formScripts: formScriptsOf(prepared), ...dataOf(ofClients, facts) }
    },
  })
}

function dataOf(plugins: readonly Plugin[], facts: SolutionFacts): Pick<SandboxSolution, 'settings' | 'tables'> {
  const settings: Record<string, Json> = {}
  const tables: Record<string, Tables> = {}
  for (const plugin of plugins) {
    if (plugin.settings) settings[plugin.name] = plugin.settings(facts)
    if (plugin.tables) tables[plugin.name] = plugin.tables(facts)
  }
  return { settings, tables }
}
