import { setImmediate } from 'node:timers/promises'
import type { Findings } from './findings.ts'
import { type JsonPlaces, jsonPlaces, NO_PLACES } from './json-places.ts'
import { folderOf, MANIFEST } from './layout.ts'
import { checkManifest, type Manifest, namedParts } from './manifest.ts'
import { filesOf, type Part } from './parts.ts'
import { decodeUtf8, parseStrictJson } from './strict-json.ts'

export type ReadManifest = {
  /** Null if the manifest is missing or has an error. */
  readonly manifest: Manifest | null
  /** The parts that the manifest refers to. Parts that can't be read are omitted. */
  readonly names: ReturnType<typeof namedParts>
  /** Positions in the manifest's text. */
  readonly places: JsonPlaces
}

export type Modules = {
  readonly reached: readonly ReachableModule[]
  /** Whether every listed module was found and has a valid manifest. */
  readonly complete: boolean
}

export type ReachableModule = ReadManifest & { readonly name: string }

/** Reads the `solution.json` of the solution or of one module. */
export function readManifest(part: Part, found: Findings): ReadManifest {
  const nothing = { manifest: null, names: namedParts(null), places: NO_PLACES }
  const file = `${folderOf(part.module)}${MANIFEST}`
  const [entry] = filesOf(part, 'manifest')
  if (entry === undefined) {
    const owner = part.module === null ? 'the bundle' : `the module "${part.module}"`
    found.fault(file, 'manifest_missing', `${owner} has no manifest; add ${file}`)
    return nothing
  }
  if (entry.content === null) return nothing
  const text = decodeUtf8(entry.content)
  const parsed = text === null ? null : parseStrictJson(text)
  if (parsed === null || 'error' in parsed) {
    const { message, ...place } =
      parsed === null ? { message: 'the file is not UTF-8; save it as UTF-8' } : parsed.error
    found.fault(file, 'json_invalid', message, place)
    return nothing
  }
  const places = jsonPlaces(text as string)
  const check = checkManifest(parsed.value, file, places)
  found.add(check)
  return { manifest: check.manifest, names: namedParts(parsed.value), places }
}

/**
 * Returns the modules that `main` depends on through `modules` lists. Dependencies come first; otherwise, modules are
 * in the order in which they are listed. Each module is visited once, so cycles don't matter. The walk uses an explicit
 * stack, so chains may be long.
 */
export async function readModules(
  main: ReadManifest,
  parts: ReadonlyMap<string | null, Part>,
  found: Findings,
): Promise<Modules> {
  const reached: ReachableModule[] = []
  let complete = true
  const visited = new Set<string>()
  const stack: { readonly module: ReachableModule | null; readonly names: readonly string[]; next: number }[] = [
    { module: null, names: main.names.modules, next: 0 },
  ]
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const name = top.names[top.next++]
    if (name === undefined) {
      if (top.module !== null) reached.push(top.module)
      stack.pop()
      continue
    }
    if (visited.has(name)) continue
    visited.add(name)
    const part = parts.get(name)
    if (part === undefined) {
      complete = false
      const file = `${folderOf(top.module?.name ?? null)}${MANIFEST}`
      const { places } = top.module ?? main
      const place = found.isFull ? {} : places.text(name)
      found.fault(file, 'module_missing', `"modules" lists "${name}", but there is no folder modules/${name}`, place)
      continue
    }
    // Manifests are parsed in the host, so let its other work run between them, and stop when the list of errors is
    // full.
    await setImmediate()
    if (found.isFull) return { reached, complete: false }
    const module = { name, ...readManifest(part, found) }
    if (module.manifest === null) complete = false
    checkModule(module, found)
    stack.push({ module, names: module.names.modules, next: 0 })
  }
  return { reached, complete }
}

/**
 * Returns the modules that `from` names, and the modules that those modules list, in no particular order.
 * @param modulesOf returns the modules that a module lists
 * @param isWanted if it returns false, the module and its dependencies are skipped
 */
export function reachableModules(
  from: readonly string[],
  modulesOf: (name: string) => readonly string[],
  isWanted: (name: string) => boolean,
): Set<string> {
  const seen = new Set<string>()
  const open = from.filter(isWanted)
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name)) continue
    seen.add(name)
    for (const next of modulesOf(name)) if (isWanted(next)) open.push(next)
  }
  return seen
}

function checkModule({ name, manifest, places }: ReachableModule, found: Findings): void {
  if (manifest === null) return
  const file = `${folderOf(name)}${MANIFEST}`
  if (manifest.name !== name) {
    const message = `"name" must be "${name}", the same as the module’s folder, not "${manifest.name}"`
    found.fault(file, 'module_invalid', message, places.value(['name']))
  }
  if (manifest.type === 'solution') {
    const message = `"type" of the module "${name}" must be "module" or "authenticator", not "solution"`
    found.fault(file, 'module_invalid', message, places.value(['type']))
  }
  if (manifest.signIn !== null) {
    const message = `"signIn" has no effect in the module "${name}": move it to the solution’s own manifest`
    found.fault(file, 'module_invalid', message, places.key(['signIn']))
  }
  if (manifest.realm !== 'fresh') {
    const message = `"realm" has no effect in the module "${name}": move it to the solution’s own manifest`
    found.fault(file, 'module_invalid', message, places.key(['realm']))
  }
}

/** The modules whose scripts run outside sign-ins. */
export function clientModules(main: ReadManifest, modules: Modules): ReadonlySet<string> {
  const byName = new Map(modules.reached.map((module) => [module.name, module]))
  return reachableModules(
    main.names.modules,
    (name) => byName.get(name)?.names.modules ?? [],
    (name) => byName.get(name)?.manifest?.type !== 'authenticator' && name !== main.names.loginSolution,
  )
}
