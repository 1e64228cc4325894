import { type Program, parse } from 'acorn'
import { analyze } from 'eslint-scope'
import { type TopLevelName, topLevelNamesOf } from './top-level-names.ts'

/** `start`: where it is in the source, in characters. */
export type FreeName = TopLevelName & { readonly start: number }

/**
 * Where a script uses names that it does not declare itself, in the order of the file.
 * @returns nothing for a script that cannot be parsed: what is wrong with it is V8's to say
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

/** Functions and variables of the top level are among them: to the analysis other scripts might declare those anew. */
function referencesOf(program: Program): FreeName[] {
  const { globalScope } = analyze(program as Parameters<typeof analyze>[0], { ecmaVersion: 2024, sourceType: 'script' })
  return (globalScope?.through ?? []).map(({ identifier: { name, loc, range } }) => {
    const { line, column } = loc?.start ?? { line: 1, column: 0 }
    return { name: `${name}`, line, column: column + 1, start: range?.[0] ?? 0 }
  })
}
