import { type Program, parse } from 'acorn'
import { analyze } from 'eslint-scope'
import { type TopLevelName, topLevelNamesOf } from './top-level-names.ts'

/** `start`: the offset in the source, in characters. */
export type FreeName = TopLevelName & { readonly start: number }

/**
 * Finds each use of a name that the script does not declare itself, in file order.
 * @returns an empty list for a script that cannot be parsed: V8 reports its errors
 */
export function freeNames(source: string): FreeName[] {
  try {
    const program = parse(source, { ecmaVersion: 'latest', sourceType: 'script', locations: true, ranges: true })
    const own = new Set(topLevelNamesOf(program).map(({ name }) => name))
    return referencesOf(program).filter(({ name }) => !own.has(name))
  } catch {
    return []
  }
}

/**
 * The result includes uses of the script's own top-level functions and variables, because the analysis assumes that
 * other scripts might redeclare them.
 */
function referencesOf(program: Program): FreeName[] {
  const { globalScope } = analyze(program as Parameters<typeof analyze>[0], { ecmaVersion: 2024, sourceType: 'script' })
  return (globalScope?.through ?? []).map(({ identifier: { name, loc, range } }) => {
    const { line, column } = loc?.start ?? { line: 1, column: 0 }
    return { name: `${name}`, line, column: column + 1, start: range?.[0] ?? 0 }
  })
}
