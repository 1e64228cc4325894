import type { Bundle } from '../../runtime/bundle/bundle.ts'
import type { Fault, Warning } from '../../runtime/bundle/faults.ts'
import { folderOf, MANIFEST } from '../../runtime/bundle/layout.ts'
import { fewTypos, nearestKey } from '../../runtime/bundle/nearest-key.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { CheckedFiles, Unit } from '../../runtime/protocol.ts'
import type { Probe, Supervisor } from '../../runtime/supervisor.ts'
import type { CompiledTemplate } from '../../runtime/template/compiled-template.ts'
import { CompiledTemplateSchema } from '../../runtime/template/template-schema.ts'
import { activeSolution } from './active-solution.ts'
import { readCheckedForms } from './checked-forms.ts'
import { endpointsOf } from './endpoint-table.ts'
import { jobsOf } from './job-table.ts'
import { clientForms, type PreparedSolution, permissionsOf, prepareSolution, unitsOf } from './prepared-solution.ts'
import type { SandboxSolutionMaker } from './sandbox-solution.ts'

/** The result of a check in a sandbox process. `prepared` is null if there are errors. */
export type CheckedBundle = {
  readonly prepared: PreparedSolution | null
  readonly faults: readonly Fault[]
  readonly warnings: readonly Warning[]
}

export type BundleCheckParts = {
  readonly supervisor: Supervisor
  readonly makeSandboxSolution: SandboxSolutionMaker
  readonly limits: Limits
}

/**
 * Returns a function that runs an upload's checks on a bundle that `readBundle` accepted. The function stores nothing.
 */
export function createBundleCheck({
  supervisor,
  makeSandboxSolution,
  limits,
}: BundleCheckParts): (bundle: Bundle) => Promise<CheckedBundle> {
  return async (bundle) => {
    const probes = probesOf(bundle)
    let read: Awaited<ReturnType<typeof readCheckedForms>> = { forms: [], fault: null }
    // The forms are read first, because main's scripts may use them while they load.
    const prepare = async (checked: CheckedFiles) => {
      read = await readCheckedForms(bundle, checked)
      const prepared = prepareSolution(bundle, checked, { template: null, forms: read.forms, entries: {} })
      return activeSolution(bundle.sha256, prepared, makeSandboxSolution).loadable.solution()
    }
    const files = { ...bundle, isolateMemory: limits.ISOLATE_MEMORY }
    const { checked, faults, found } = await supervisor.checkUpload(uploadFiles(files), prepare, probes)
    const missing = faults.length === 0 ? missingEntries(bundle, found, checked?.scripts ?? []) : []
    const warnings = checked?.warnings ?? []
    if (read.fault !== null) return { prepared: null, faults: [read.fault], warnings }
    if (checked === null || faults.length + missing.length > 0) {
      return { prepared: null, faults: [...faults, ...missing], warnings }
    }
    const parts = { template: readTemplate(checked.template), forms: read.forms, entries: entriesOf(found) }
    const prepared = prepareSolution(bundle, checked, parts)
    return { prepared, faults: [], warnings }
  }
}

function uploadFiles(bundle: Bundle & { isolateMemory: number }) {
  const { scripts, formScripts, forms, i18n, loginTemplate, isolateMemory } = bundle
  const media = [...bundle.media.keys()]
  const permissions = permissionsOf(bundle)
  const hardened = bundle.manifest.realm === 'hardened' ? Object.values(unitsOf(bundle)) : null
  const loginForm = loginFormFile(bundle)
  return { scripts, formScripts, forms, i18n, loginTemplate, media, permissions, loginForm, isolateMemory, hardened }
}

/** Returns undefined if the sign-in mode ignores `loginForm`. */
function loginFormFile(bundle: Bundle): string | undefined {
  const { authenticator, loginForm, loginSolution } = bundle.manifest
  if (authenticator !== 'DEFAULT' || loginSolution !== null || loginForm === null) return undefined
  return clientForms(bundle).get(loginForm)?.file
}

const ENTRIES = ['onSolutionOpen', 'getOAuthConfig'] as const
/** main runs in clients, so it can also have an entry function that is called when a client closes. */
const MAIN_ENTRIES = [...ENTRIES, 'onSolutionClose'] as const

function probesOf(bundle: Bundle): readonly Probe[] {
  const hasAuthenticator = bundle.modules.some(({ manifest }) => manifest.type === 'authenticator')
  const units: readonly Unit[] = hasAuthenticator ? ['authenticator', 'main'] : ['main']
  const probes: Probe[] = units.map((unit) => ({ unit, entries: unit === 'main' ? MAIN_ENTRIES : ENTRIES }))
  const functions = [...new Set([...endpointsOf(bundle), ...jobsOf(bundle)].map((one) => one.declaration.function))]
  if (functions.length > 0) probes.push({ unit: 'main', entries: functions, isForRequests: true })
  if (bundle.manifest.authenticator !== 'OAUTH_AUTHENTICATOR') return probes
  // `getOAuthConfig` runs main's scripts without their modules. Scripts that need the modules fail to load. Main is
  // therefore checked for the function only if the authenticator doesn't declare it.
  const isNeeded: Probe['isNeeded'] = (found) => found.get('authenticator')?.includes('getOAuthConfig') !== true
  return [...probes, { unit: 'configuration', entries: ENTRIES, isNeeded }]
}

/** Returns an error for each missing entry function that the mode, an endpoint or a job requires. */
function missingEntries(
  bundle: Bundle,
  found: ReadonlyMap<Unit, readonly string[]>,
  sources: readonly string[],
): Fault[] {
  const { authenticator: mode } = bundle.manifest
  const faults: Fault[] = missingFunctions(bundle, found.get('main') ?? [], sources)
  const module = bundle.modules.find(({ manifest }) => manifest.type === 'authenticator')
  if (module && !found.get('authenticator')?.includes('onSolutionOpen')) {
    const message = `the authenticator "${module.name}" must declare the function onSolutionOpen(arg, queryParams)`
    const file = bundle.scripts.find((script) => script.module === module.name)?.file
    faults.push({ code: 'entry_missing', file: file ?? `modules/${module.name}/globals.js`, message })
  }
  const hasConfiguration = (['authenticator', 'configuration'] as const).some((unit) =>
    found.get(unit)?.includes('getOAuthConfig'),
  )
  if (mode === 'OAUTH_AUTHENTICATOR' && !hasConfiguration) {
    const message =
      'OAUTH_AUTHENTICATOR requires the function getOAuthConfig(queryParams) in the authenticator or in the solution’s globals.js'
    faults.push({ code: 'entry_missing', file: 'globals.js', message })
  }
  return faults
}

function missingFunctions(bundle: Bundle, found: readonly string[], sources: readonly string[]): Fault[] {
  const named = [
    ...endpointsOf(bundle).map(({ address, ...one }) => ({ ...one, path: ['endpoints', address] })),
    ...jobsOf(bundle).map(({ name, ...one }) => ({ ...one, path: ['jobs', name] })),
  ]
  const missing = named.filter(({ declaration }) => !found.includes(declaration.function))
  const declared = missing.length === 0 ? [] : functionsIn(unitsOf(bundle).main.map((index) => sources[index] ?? ''))
  return missing.map(({ path, module, declaration }, index) => {
    const nearest = index < MAX_SUGGESTED ? nearestKey(declaration.function, declared, fewTypos) : null
    const meant = nearest === null ? '' : `; did you mean "${nearest}"?`
    const message = `"${path.join('.')}" requires the function ${declaration.function}, but no script declares it at the top level${meant}`
    const place = bundle.places.get(module)?.value([...path, 'function'])
    return { code: 'function_missing', file: `${folderOf(module)}${MANIFEST}`, ...place, message }
  })
}

/**
 * Limits for suggestions, because it takes time to compare names: the number of names to compare, and the number of
 * errors that get a suggestion.
 */
const MAX_COMPARED = 200
const MAX_SUGGESTED = 10

const DECLARED_FUNCTION =
  /^(?:async )?function\*? ([A-Za-z_$][\w$]{0,63})|^(?:const|let|var) ([A-Za-z_$][\w$]{0,63}) = (?:async|function|\()/gm

/**
 * Returns names for suggestions. A regular expression is enough to find functions in formatted scripts, and the host
 * does not parse scripts.
 */
function functionsIn(sources: readonly string[]): readonly string[] {
  const matches = sources.flatMap((source) => [...source.matchAll(DECLARED_FUNCTION).take(MAX_COMPARED)])
  return matches.slice(0, MAX_COMPARED).map(([, name, assigned]) => name ?? assigned ?? '')
}

/** Omits the functions of endpoints, because the manifest chooses their names. */
function entriesOf(found: ReadonlyMap<Unit, readonly string[]>): PreparedSolution['entries'] {
  const known: readonly string[] = MAIN_ENTRIES
  return Object.fromEntries(
    [...found].map(([unit, names]) => [unit, [...new Set(names)].filter((one) => known.includes(one))]),
  )
}

/** The sandbox process that compiled the template also ran untrusted files, so its result is validated again. */
function readTemplate(template: unknown): CompiledTemplate | null {
  if (template === null) return null
  const checked = CompiledTemplateSchema.safeParse(template)
  return checked.success ? checked.data : null
}
