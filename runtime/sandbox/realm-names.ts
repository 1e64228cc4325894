import type { Fault } from '../bundle/faults.ts'
import type { RealmNames, ScriptScope } from '../protocol.ts'
import { type DeclaredName, parseScript, readsThis, topLevelNamesOf } from './top-level-names.ts'

/** The names at a script's top level; see `readTopLevel`. */
export type TopLevel = {
  readonly file: string
  readonly shared: readonly DeclaredName[]
  readonly readsThis: boolean
}

/** The names that are valid in a stored version; see `Identifier` in schema-parts.ts. */
const SHAREABLE = /^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/

/** A script that acorn can't parse declares nothing, and may use `this`. */
export function readTopLevel(file: string, source: string, scope: ScriptScope | undefined): TopLevel {
  const program = parseScript(source)
  if (program === null) return { file, shared: [], readsThis: true }
  const shared = topLevelNamesOf(program).filter(({ name }) => !isApart(scope, name))
  return { file, shared, readsThis: readsThis(program) }
}

/** The names that a script declares for the other scripts in the hardened realm. */
export function namesOf({ shared, readsThis }: TopLevel): RealmNames {
  const namesIf = (isLexical: boolean) => [
    ...new Set(shared.filter((one) => one.isLexical === isLexical).map(({ name }) => name)),
  ]
  return { globals: namesIf(false), lexicals: namesIf(true), readsThis }
}

/**
 * Each file has its own variables in the hardened realm, so two files that run together can't declare the same name.
 * @param units the scripts that run together, as indexes
 */
export function findRepeatedNames(scripts: readonly TopLevel[], units: readonly (readonly number[])[]): Fault[] {
  const found = new Map<string, Fault>()
  for (const unit of units) {
    const declaredIn = new Map<string, string>()
    for (const index of unit) {
      const { file, shared } = scripts[index] as TopLevel
      for (const { name, line, column } of firstOf(shared)) {
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
  'in the hardened realm, a top-level name can have at most 64 characters: letters (A-Z, a-z), digits, "_" and "$"; rename it'

function repeatedMessage(name: string, other: string | undefined): string | null {
  if (other === undefined) return null
  return `"${name}" is also declared in ${other}. In the hardened realm, only one of the files that run together can declare it: rename one.`
}

/** Whether the name is available only in `scopes.<file>`, because another script in `scopes/` also declares it. */
function isApart(scope: ScriptScope | undefined, name: string): boolean {
  return scope?.isOwn === true && !scope.shared.includes(name)
}

function firstOf(names: readonly DeclaredName[]): readonly DeclaredName[] {
  return [...new Map([...names].reverse().map((one) => [one.name, one])).values()].reverse()
}
