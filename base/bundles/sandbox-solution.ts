import type { Json, Plugin, SolutionFacts, Tables } from '../../runtime/plugin.ts'
import type { SandboxSolution } from '../../runtime/protocol.ts'
import { formScriptsOf, type PreparedSolution, unitsOf } from './prepared-solution.ts'

/** Builds the data that a sandbox process loads, from a prepared solution and the plugins' guest parts. */
export type SandboxSolutionMaker = (facts: SolutionFacts, prepared: PreparedSolution) => SandboxSolution

export function createSandboxSolutionMaker(plugins: readonly Plugin[]): SandboxSolutionMaker {
  return (facts, prepared) => {
    const settings: Record<string, Json> = {}
    const tables: Record<string, Tables> = {}
    const forClients: { settings: Record<string, Json>; tables: Record<string, Tables> } = { settings: {}, tables: {} }
    for (const plugin of plugins) {
      const given = plugin.clientsOnly === true ? forClients : { settings, tables }
      if (plugin.settings) given.settings[plugin.name] = plugin.settings(facts)
      if (plugin.tables) given.tables[plugin.name] = plugin.tables(facts)
    }
    return {
      scripts: prepared.scripts.map(({ module: _, ...script }) => script),
      ...(prepared.manifest.realm === 'hardened' ? { isHardened: true } : {}),
      units: unitsOf(prepared),
      settings,
      tables,
      clients: { formScripts: formScriptsOf(prepared), ...forClients },
    }
  }
}
