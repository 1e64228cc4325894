import type { Fault } from '../bundle/faults.ts'
import { placeOf, splitModule } from '../bundle/layout.ts'
import type { ScriptScope } from '../protocol.ts'
import type { DeclaredName } from './top-level-names.ts'

type Script = { readonly module: string | null; readonly file: string; readonly source: string }
type Declared = Script & { readonly name: string; readonly names: readonly DeclaredName[] }

/** The platform calls these functions by name, without a scope. */
const ENTRIES: ReadonlySet<string> = new Set(['onSolutionOpen', 'onSolutionClose', 'getOAuthConfig'])
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]{0,99}$/

/**
 * Finds the names in each script that are available in `globals` or `scopes.<file>`, and reports names that are
 * declared twice. Two scopes in the same folder may declare the same name, as long as no other script uses the name
 * without its scope.
 * @param scripts scripts without types, in order
 * @param formScripts the forms' scripts, also without types and in order
 */
export async function findScopes(
  scripts: readonly Script[],
  formScripts: readonly Script[],
  faults: Fault[],
): Promise<ScriptScope[]> {
  const isAsked = [...scripts, ...formScripts].some(({ source }) => /\b(?:globals|scopes)\b/.test(source))
  const areAlone = new Set(scripts.map(({ module }) => module)).size === scripts.length
  if (areAlone && !isAsked) {
    return scripts.map(({ file }) => ({ name: scopeOf(file), names: [], shared: [], isOwn: false }))
  }
  const { topLevelNames } = await import('./top-level-names.ts')
  const declared = scripts.map(
    (script): Declared => ({ ...script, name: scopeOf(script.file), names: topLevelNames(script.source) }),
  )
  const twice = sharedNames(declared, faults)
  await findUses([...declared, ...formScripts], declared, twice, faults)
  return declared.map(({ module, name, names }) => {
    const all = identifiersOf(names)
    const apart = twice.get(module)
    const isOwn = name !== 'globals' && all.some((one) => apart?.has(one))
    if (isOwn) return { name, names: all, shared: all.filter((one) => apart?.has(one) !== true), isOwn }
    if (!isAsked) return { name, names: [], shared: [], isOwn }
    if (name !== 'globals') return { name, names: all, shared: [], isOwn }
    const shared = identifiersOf(names.filter(({ isLexical }) => isLexical))
    return { name, names: shared, shared, isOwn }
  })
}

function identifiersOf(names: readonly DeclaredName[]): string[] {
  return [...new Set(names.map(({ name }) => name))].filter((name) => IDENTIFIER.test(name))
}

function scopeOf(file: string): string {
  const place = placeOf(splitModule(file).path)
  return place.kind === 'script' ? place.base : 'globals'
}

/** For each name that several scopes in a folder declare: these scopes, by folder and name. */
type Twice = ReadonlyMap<string | null, ReadonlyMap<string, readonly Declared[]>>

function sharedNames(scripts: readonly Declared[], faults: Fault[]): Twice {
  const folders = new Map<string | null, Map<string, Declared[]>>()
  for (const script of scripts) {
    const seen = folders.get(script.module) ?? new Map<string, Declared[]>()
    folders.set(script.module, seen)
    for (const { name, line, column } of script.names) {
      const before = seen.get(name) ?? []
      const first = before[0]
      if (before.includes(script)) continue
      seen.set(name, [...before, script])
      if (first === undefined) continue
      const isApart = first.name !== 'globals' && script.name !== 'globals'
      if (isApart && IDENTIFIER.test(name) && name !== '__proto__' && !ENTRIES.has(name)) continue
      const rule = ENTRIES.has(name)
        ? 'the platform calls this function, so only one file in the same solution or module can declare it'
        : 'only files in scopes/ can share a name'
      const message = `"${name.slice(0, 100)}" is also declared at the top level of ${first.file}; rename one: ${rule}`
      faults.push({ code: 'name_twice', file: script.file, line, column, message })
    }
  }
  const several = (names: Map<string, Declared[]>) => new Map([...names].filter(([, all]) => all.length > 1))
  return new Map([...folders].map(([folder, names]) => [folder, several(names)]))
}

/** Finds uses of a shared name without its scope, including in other folders that don't declare the name themselves. */
async function findUses(
  users: readonly Script[],
  scripts: readonly Declared[],
  twice: Twice,
  faults: Fault[],
): Promise<void> {
  if ([...twice.values()].every(({ size }) => size === 0)) return
  const { freeNames } = await import('./free-names.ts')
  const known = new Set(
    scripts.flatMap(({ module, names }) =>
      names.map(({ name }) => name).filter((name) => !twice.get(module)?.has(name)),
    ),
  )
  for (const { module, file, source } of users) {
    for (const { name, line, column } of freeNames(source)) {
      const elsewhere = [...twice.values()].map((names) => names.get(name))
      const own = twice.get(module)?.get(name)
      const meant = own ?? (known.has(name) ? undefined : elsewhere.find((one) => one !== undefined))
      if (meant === undefined || meant.some((one) => one.file === file)) continue
      const files = meant.map((one) => one.file).join(', ')
      const ways = meant.map((one) => `${memberOf(one.name)}.${name}`).join(' or ')
      faults.push({
        code: 'name_twice',
        file,
        line,
        column,
        message: `"${name}" is declared in ${files}: write ${ways}`,
      })
    }
  }
}

function memberOf(scope: string): string {
  if (scope === 'globals') return 'globals'
  return IDENTIFIER.test(scope) ? `scopes.${scope}` : `scopes['${scope}']`
}
