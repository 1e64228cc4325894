import type { SolutionFacts } from '../../runtime/plugin.ts'
import type { Loadable } from '../../runtime/supervisor.ts'
import { clientForms, type PreparedSolution } from './prepared-solution.ts'
import type { SandboxSolutionMaker } from './sandbox-solution.ts'

/** The active version of a solution, ready to serve requests. */
export type ActiveSolution = PreparedSolution & {
  readonly name: string
  readonly title: string
  readonly facts: SolutionFacts
  /** Passed to the supervisor to run the solution's scripts. */
  readonly loadable: Loadable
}

/** Returns the key with which the supervisor identifies a version. */
export function versionKey(name: string, sha256: string): string {
  return `${name}@${sha256}`
}

/** Returns the name of the solution that a key from `versionKey` belongs to. */
export function solutionOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf('@'))
}

/** @param sha256 the SHA-256 of the bundle that `prepared` was built from */
export function activeSolution(
  sha256: string,
  prepared: PreparedSolution,
  makeSandboxSolution: SandboxSolutionMaker,
): ActiveSolution {
  const { name, title, version } = prepared.manifest
  const { manifest, modules, texts } = prepared
  const forms = prepared.forms.map(({ form }) => form)
  const definitions = new Map([...clientForms(prepared)].map(([form, { definition }]) => [form, definition]))
  const facts: SolutionFacts = { name, version, sha256, manifest, modules, texts, forms, definitions }
  const loadable = { key: versionKey(name, sha256), solution: () => makeSandboxSolution(facts, prepared) }
  return { ...prepared, name, title, facts, loadable }
}
