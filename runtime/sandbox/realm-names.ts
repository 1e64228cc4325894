import type { Fault } from '../bundle/faults.ts'
import type { RealmNames, ScriptScope } from '../protocol.ts'
import { lexicalNames, readsThis, type TopLevelName, topLevelNames } from './top-level-names.ts'

type Script = { readonly file: string; readonly source: string }

/** The names that a stored version can have; see `Identifier` in schema-parts.ts. */
const SHAREABLE = /^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/

/** The names that a script declares for the other scripts in the hardened realm. */
export function namesOf(source: string, scope: ScriptScope | undefined): RealmNames {
  const lexical = new Set(lexicalNames(source))
  const names = new Set(sharedNames(source, scope).map(({ name }) => name))
  return {
    globals: [...names].filter((name) => !lexical.has(name)),
    lexicals: [...names].filter((name) => lexical.has(name)),
    readsThis: readsThis(source),
  }
}

/**
 * Each file has its own variables in the hardened realm, so two files that run together can't declare the same name.
 * @param units the scripts that run together, as indexes
 */
export function findRepeatedNames(
  scripts: readonly Script[],
  units: readonly (readonly number[])[],
  scopes: readonly ScriptScope[],
): Fault[] {
  const found = new Map<string, Fault>()
  for (const unit of units) {
    const declaredIn = new Map<string, string>()
    for (const index of unit) {
      const { file, source } = scripts[index] as Script
      for (const { name, line, column } of firstOf(sharedNames(source, scopes[index]))) {
        const other = declaredIn.get(name)
        declaredIn.set(name, file)
        const message = SHAREABLE.test(name) ? repeatedMessage(name, other) : LONG
        if (message !== null) found.set(`${file} ${name}`, { code: 'realm_difference', file, line, column, message })
      }
    }
  }
  return [...found.values()]
}

const LONG =
  'in the hardened realm, top-level names have at most 64 characters: letters, digits, "_" and "$". Rename this one.'

function repeatedMessage(name: string, other: string | undefined): string | null {
  if (other === undefined) return null
  return `"${name}" is also declared in ${other}. In the hardened realm, only one of the files that run together can declare it: rename one.`
}

function sharedNames(source: string, scope: ScriptScope | undefined): readonly TopLevelName[] {
  return topLevelNames(source).filter(({ name }) => !isApart(scope, name))
}

/** Whether the name is only in `scopes.<file>`, because another script in `scopes/` also declares it. */
function isApart(scope: ScriptScope | undefined, name: string): boolean {
  return scope?.isOwn === true && !scope.shared.includes(name)
}

function firstOf(names: readonly TopLevelName[]): readonly TopLevelName[] {
  return [...new Map([...names].reverse().map((one) => [one.name, one])).values()].reverse()
}
