import type { Bundle } from '../../runtime/bundle/bundle.ts'
import type { Warning } from '../../runtime/bundle/faults.ts'
import type { Manifest } from '../../runtime/bundle/manifest.ts'
import { reachableModules } from '../../runtime/bundle/modules.ts'
import { Identifier } from '../../runtime/bundle/schema-parts.ts'
import type { FormDefinition } from '../../runtime/forms/form-definition.ts'
import type {
  CheckedFiles,
  RealmNames,
  SandboxFormScript,
  SandboxScript,
  ScriptScope,
  Unit,
} from '../../runtime/protocol.ts'
import type { CompiledTemplate } from '../../runtime/template/compiled-template.ts'

/**
 * A solution version as it is stored and run. A sandbox process creates it while it checks the uploaded bundle. Types
 * are stripped from scripts, texts are merged, the login page is compiled, and forms contain all defaults. If you
 * change its shape, also change stored-solution.ts.
 */
export type PreparedSolution = {
  readonly manifest: Manifest
  /** The modules that the solution uses, directly or through other modules. Later ones override earlier ones. */
  readonly modules: readonly { readonly name: string; readonly manifest: Manifest }[]
  readonly scripts: readonly PreparedScript[]
  readonly formScripts: readonly PreparedFormScript[]
  /** Modules first and the solution itself last. If two forms have the same name, the later one is used. */
  readonly forms: readonly PreparedForm[]
  /** Texts by locale (`default`, `nl`, `nl-BE`), merged from main and its modules. */
  readonly texts: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly template: CompiledTemplate | null
  /** The declared entry functions, by unit. */
  readonly entries: Readonly<Partial<Record<Unit, readonly string[]>>>
  /** The warnings from the upload, returned again if the same bundle is uploaded again. */
  readonly warnings: readonly Warning[]
}

/** `module` is null for the solution itself. */
export type PreparedScript = SandboxScript & { readonly module: string | null }

export type PreparedForm = {
  readonly module: string | null
  readonly form: string
  readonly definition: FormDefinition
}

/**
 * - `functions`: top-level functions that handlers can name.
 * - `bound`: the functions in which `this` is the form, even if they are called as plain functions.
 */
export type PreparedFormScript = PreparedScript & Pick<SandboxFormScript, 'form' | 'functions' | 'bound'>

/** The value for an unknown form. */
export const EMPTY_FORM: FormDefinition = { layout: [] }

/** Results from a sandbox process, validated again because that process ran untrusted files. */
export type ReadParts = {
  readonly template: CompiledTemplate | null
  /** In the order of the bundle's forms. */
  readonly forms: readonly FormDefinition[]
  readonly entries: PreparedSolution['entries']
}

export function prepareSolution(bundle: Bundle, checked: CheckedFiles, parts: ReadParts): PreparedSolution {
  return {
    manifest: bundle.manifest,
    modules: bundle.modules,
    scripts: bundle.scripts.map(({ module, file }, index) => ({
      module,
      file,
      source: checked.scripts[index] ?? '',
      ...scopeOf(checked.scopes[index]),
      ...realmOf(checked.realmNames?.[index]),
    })),
    formScripts: bundle.formScripts.map(({ module, file, form }, index) => ({
      module,
      file,
      form,
      source: checked.formScripts[index] ?? '',
      functions: (checked.formFunctions[index]?.names ?? []).filter(isIdentifier),
      bound: (checked.formFunctions[index]?.bound ?? []).filter(isIdentifier),
    })),
    forms: bundle.forms.map(({ module, form }, index) => ({
      module,
      form,
      definition: parts.forms[index] ?? EMPTY_FORM,
    })),
    texts: mergeTexts(bundle, checked),
    template: parts.template,
    entries: parts.entries,
    warnings: [],
  }
}

/** Drops invalid names. The names become part of a script, and a compromised process could return any text. */
function scopeOf(scope: ScriptScope | undefined): Pick<SandboxScript, 'scope'> {
  if (scope === undefined || scope.names.length === 0) return {}
  const { names, shared } = scope
  return { scope: { ...scope, names: names.filter(isIdentifier), shared: shared.filter(isIdentifier) } }
}

function realmOf(names: RealmNames | undefined): Pick<SandboxScript, 'realm'> {
  if (names === undefined) return {}
  const { globals, lexicals, readsThis = true } = names
  return { realm: { globals: globals.filter(isIdentifier), lexicals: lexicals.filter(isIdentifier), readsThis } }
}

function isIdentifier(name: string): boolean {
  return Identifier.safeParse(name).success
}

/** Main's table comes last, so its texts override the modules' texts with the same key. */
function mergeTexts(bundle: Bundle, checked: CheckedFiles): PreparedSolution['texts'] {
  const merged = new Map<string, Map<string, string>>()
  bundle.i18n.forEach(({ locale }, index) => {
    const table = merged.get(locale) ?? new Map<string, string>()
    for (const [key, text] of Object.entries(checked.i18n[index] ?? {})) table.set(key, text)
    merged.set(locale, table)
  })
  return Object.fromEntries([...merged].map(([locale, table]) => [locale, Object.fromEntries(table)]))
}

/**
 * The scripts of each unit, as indexes into `scripts`. A login runs the scripts of the authenticator and its modules. A
 * client runs the scripts of main and its modules, without the authenticator's. `getOAuthConfig` in main runs with only
 * main's scripts.
 */
export function unitsOf(
  solution: Pick<PreparedSolution, 'manifest' | 'modules' | 'scripts'>,
): Record<Unit, readonly number[]> {
  const { forLogin, forClient } = modulesByUse(solution)
  const indexes = (wanted: (module: string | null) => boolean) =>
    solution.scripts.flatMap(({ module }, index) => (wanted(module) ? [index] : []))
  return {
    authenticator: indexes((module) => module !== null && forLogin.has(module)),
    main: indexes((module) => module === null || forClient.has(module)),
    configuration: indexes((module) => module === null),
  }
}

function modulesByUse(solution: Pick<PreparedSolution, 'manifest' | 'modules'>) {
  const manifests = new Map(solution.modules.map(({ name, manifest }) => [name, manifest]))
  const isAuthenticator = (name: string) =>
    manifests.get(name)?.type === 'authenticator' || name === solution.manifest.loginSolution
  const modulesOf = (name: string) => manifests.get(name)?.modules ?? []
  const authenticators = solution.modules.map(({ name }) => name).filter(isAuthenticator)
  return {
    forLogin: reachableModules(authenticators, modulesOf, () => true),
    forClient: reachableModules(solution.manifest.modules, modulesOf, (name) => !isAuthenticator(name)),
  }
}

/** Returns the manifests of the modules that clients use, then the solution's own manifest, whose `module` is null. */
export function clientManifests(solution: Pick<PreparedSolution, 'manifest' | 'modules'>) {
  const { forClient } = modulesByUse(solution)
  return [
    ...solution.modules
      .filter(({ name }) => forClient.has(name))
      .map(({ name, manifest }) => ({ module: name, manifest })),
    { module: null, manifest: solution.manifest },
  ]
}

/** Returns the forms available to clients, by name. */
export function clientForms<Form extends Pick<PreparedForm, 'module' | 'form'>>(
  solution: Pick<PreparedSolution, 'manifest' | 'modules'> & { readonly forms: readonly Form[] },
): ReadonlyMap<string, Form> {
  const { forClient } = modulesByUse(solution)
  const forms = solution.forms.filter(({ module }) => module === null || forClient.has(module))
  return new Map(forms.map((form) => [form.form, form]))
}

/** Returns the scripts of the forms that clients can use. Each script is from the same module as its form. */
export function formScriptsOf(
  solution: Pick<PreparedSolution, 'manifest' | 'modules' | 'forms' | 'formScripts'>,
): SandboxFormScript[] {
  const forms = clientForms(solution)
  return solution.formScripts
    .filter(({ form, module }) => forms.get(form)?.module === module)
    .map(({ form, file, source, functions, bound }) => ({ form, file, source, functions, bound }))
}

/**
 * Returns the permissions that scripts can grant: those that main and its modules list. Null if they list none, which
 * allows any name.
 */
export function permissionsOf(solution: Pick<PreparedSolution, 'manifest' | 'modules'>): readonly string[] | null {
  const all = manifestsOf(solution).flatMap((manifest) => manifest.permissions)
  return all.length === 0 ? null : [...new Set(all)]
}

/** Whether scripts can grant all of these permissions. */
export function mayGrant(
  solution: Pick<PreparedSolution, 'manifest' | 'modules'>,
  permissions: readonly string[],
): boolean {
  const listed = permissionsOf(solution)
  return listed === null || permissions.every((name) => listed.includes(name))
}

/** Returns the custom event types of main and its modules. */
export function eventTypesOf(solution: Pick<PreparedSolution, 'manifest' | 'modules'>): readonly string[] {
  return [...new Set(manifestsOf(solution).flatMap((manifest) => Object.keys(manifest.eventTypes)))]
}

function manifestsOf(solution: Pick<PreparedSolution, 'manifest' | 'modules'>): Manifest[] {
  return [...solution.modules.map(({ manifest }) => manifest), solution.manifest]
}
