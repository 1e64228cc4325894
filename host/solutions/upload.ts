import type { Fault, Warning } from '../../runtime/bundle/faults.ts'
import { type Bundle, readBundle } from '../../runtime/bundle/read-bundle.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { CheckedFiles, Unit } from '../../runtime/protocol.ts'
import type { Probe, Supervisor } from '../../runtime/supervisor.ts'
import type { CompiledTemplate } from '../../runtime/template/compiled-template.ts'
import { CompiledTemplateSchema } from '../../runtime/template/template-schema.ts'
import { activeSolution, type Catalog } from './catalog.ts'
import { readCheckedForms } from './checked-forms.ts'
import { type PreparedSolution, permissionsOf, prepareSolution } from './prepared-solution.ts'
import type { SandboxSolutionMaker } from './sandbox-solution.ts'
import type { SolutionStore } from './solution-store.ts'

export type Uploaded = {
  readonly name: string
  readonly version: string
  readonly sha256: string
  readonly active: boolean
  readonly warnings: readonly Warning[]
  /** False when the same bundle was there before. */
  readonly isNew: boolean
}

export interface Uploads {
  /**
   * Reads, checks and activates a bundle: in the host the zip and the manifests, all else in a sandbox process of the
   * upload's own. The version is active only after its scripts compiled and loaded there.
   * @param expectedName the name in the address
   * @throws ERR_BUNDLE_TOO_LARGE, ERR_NAME_DIFFERS, ERR_BUNDLE_REFUSED (with every fault in `details.faults`)
   */
  upload(packed: Uint8Array, expectedName: string): Promise<Uploaded>
  /** Switches or rolls back to a version that is there. @throws ERR_SOLUTION_NOT_FOUND, ERR_VERSION_NOT_FOUND */
  activate(name: string, sha256: string): Promise<void>
  /** @throws ERR_SOLUTION_NOT_FOUND */
  remove(name: string): Promise<void>
}

export type UploadParts = {
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly supervisor: Supervisor
  readonly makeSandboxSolution: SandboxSolutionMaker
  readonly limits: Limits
}

export function createUploads({ store, catalog, supervisor, makeSandboxSolution, limits }: UploadParts): Uploads {
  const oneAtATime = createQueue()

  async function check(
    bundle: Bundle,
  ): Promise<{ prepared: PreparedSolution | null; faults: readonly Fault[]; warnings: readonly Warning[] }> {
    const probes = probesOf(bundle)
    const prepare = (checked: CheckedFiles) => {
      const prepared = prepareSolution(bundle, checked, { template: null, forms: [], entries: {} })
      return activeSolution(bundle.sha256, prepared, makeSandboxSolution).loadable.solution()
    }
    const files = { ...bundle, isolateMemory: limits.ISOLATE_MEMORY }
    const { checked, faults, found } = await supervisor.checkUpload(uploadFiles(files), prepare, probes)
    const missing = faults.length === 0 ? missingEntries(bundle, found) : []
    const warnings = checked?.warnings ?? []
    if (checked === null || faults.length + missing.length > 0) {
      return { prepared: null, faults: [...faults, ...missing], warnings }
    }
    const { forms, fault } = await readCheckedForms(bundle, checked)
    if (fault !== null) return { prepared: null, faults: [fault], warnings }
    const parts = { template: readTemplate(checked.template), forms, entries: Object.fromEntries(found) }
    const prepared = prepareSolution(bundle, checked, parts)
    return { prepared, faults: [], warnings }
  }

  async function upload(packed: Uint8Array, expectedName: string): Promise<Uploaded> {
    const { bundle, faults, warnings } = await readBundle(packed, limits)
    if (bundle === null) throw refused(faults, warnings)
    const { name, version } = bundle.manifest
    if (name !== expectedName) {
      throw new PlatformError(
        'ERR_NAME_DIFFERS',
        `The bundle is "${name}" by its manifest: send it to /admin/api/solutions/${name}, or change "name" in solution.json to "${expectedName}".`,
      )
    }
    const { sha256 } = bundle
    const before = await store.get(name)
    const kept = await store.prepared(name, sha256)
    if (kept?.isCurrent) {
      if (before?.active !== sha256) await store.activate(name, sha256)
      catalog.changed(name)
      return { name, version, sha256, active: true, warnings: kept.prepared.warnings ?? warnings, isNew: false }
    }
    const checked = await check(bundle)
    const allWarnings = [...warnings, ...checked.warnings]
    if (checked.prepared === null) throw refused(checked.faults, allWarnings)
    const prepared = { ...checked.prepared, warnings: allWarnings }
    // Of a version that an older host prepared, `add` writes nothing.
    if (kept !== null) await store.renew(name, sha256, prepared)
    await store.add(bundle, packed, prepared)
    catalog.changed(name)
    return { name, version, sha256, active: true, warnings: allWarnings, isNew: kept === null }
  }

  async function activate(name: string, sha256: string): Promise<void> {
    if ((await store.get(name)) === null) throw solutionNotFound(name)
    if (!(await store.hasVersion(name, sha256))) {
      throw new PlatformError('ERR_VERSION_NOT_FOUND', `"${name}" has no version ${sha256}.`, { name, sha256 })
    }
    await store.activate(name, sha256)
    catalog.changed(name)
  }

  async function remove(name: string): Promise<void> {
    if (!(await store.remove(name))) throw solutionNotFound(name)
    catalog.changed(name)
  }

  return {
    upload: (packed, expectedName) => oneAtATime(expectedName, () => upload(packed, expectedName)),
    activate: (name, sha256) => oneAtATime(name, () => activate(name, sha256)),
    remove: (name) => oneAtATime(name, () => remove(name)),
  }
}

function solutionNotFound(name: string): PlatformError {
  return new PlatformError('ERR_SOLUTION_NOT_FOUND', `There is no solution "${name}".`, { name })
}

/** Runs what has the same key one after the other. */
function createQueue() {
  const last = new Map<string, Promise<unknown>>()
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const before = last.get(key) ?? Promise.resolve()
    const mine = before.then(work, work)
    last.set(key, mine)
    try {
      return await mine
    } finally {
      if (last.get(key) === mine) last.delete(key)
    }
  }
}

function refused(faults: readonly Fault[], warnings: readonly Warning[]): PlatformError {
  const tooLarge = faults.every(({ code }) => code === 'too_large' || code === 'too_many_files')
  const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`
  return new PlatformError(
    tooLarge ? 'ERR_BUNDLE_TOO_LARGE' : 'ERR_BUNDLE_REFUSED',
    `The bundle was refused for ${count}; the active version is as it was.`,
    { faults, warnings },
  )
}

function uploadFiles(bundle: Bundle & { isolateMemory: number }) {
  const { scripts, formScripts, forms, i18n, loginTemplate, isolateMemory } = bundle
  const media = [...bundle.media.keys()]
  const permissions = permissionsOf(bundle)
  return { scripts, formScripts, forms, i18n, loginTemplate, media, permissions, isolateMemory }
}

const ENTRIES = ['onSolutionOpen', 'getOAuthConfig'] as const

function probesOf(bundle: Bundle): readonly Probe[] {
  const hasAuthenticator = bundle.modules.some(({ manifest }) => manifest.type === 'authenticator')
  const units: readonly Unit[] = hasAuthenticator ? ['authenticator', 'main'] : ['main']
  const probes: readonly Probe[] = units.map((unit) => ({ unit, entries: ENTRIES }))
  if (bundle.manifest.authenticator !== 'OAUTH_AUTHENTICATOR') return probes
  // Main's scripts run alone for it, and may need their modules unless they hold it.
  const isNeeded: Probe['isNeeded'] = (found) => found.get('authenticator')?.includes('getOAuthConfig') !== true
  return [...probes, { unit: 'configuration', entries: ENTRIES, isNeeded }]
}

/** What the mode cannot work without. */
function missingEntries(bundle: Bundle, found: ReadonlyMap<Unit, readonly string[]>): Fault[] {
  const { authenticator: mode } = bundle.manifest
  const faults: Fault[] = []
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
    const message = 'OAUTH_AUTHENTICATOR needs the function getOAuthConfig(queryParams) in the authenticator or in main'
    faults.push({ code: 'entry_missing', file: 'globals.js', message })
  }
  return faults
}

/** The sandbox process compiled the template while hostile files were around: its form is checked once more. */
function readTemplate(template: unknown): CompiledTemplate | null {
  if (template === null) return null
  const checked = CompiledTemplateSchema.safeParse(template)
  return checked.success ? checked.data : null
}
