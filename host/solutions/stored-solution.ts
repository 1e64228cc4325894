import { EMPTY_FORM, type PreparedSolution } from '../../base/bundles/prepared-solution.ts'
import type { Manifest } from '../../runtime/bundle/manifest.ts'

/**
 * The storage format of prepared solutions. Increment it when stored data of older hosts no longer matches, and convert
 * that data in `upgrade`.
 *
 * 1 (no number was written): forms as source texts, form scripts without their functions.
 * 2: forms as definitions, form scripts with the names of their functions.
 * 3: `entries` of main include `onSolutionClose`.
 * 4: form scripts also list functions whose `this` is the form in a plain call; scripts also list their names in
 *    `scopes`.
 * 5: manifests have `signIn`.
 * 6: manifests have `endpoints`.
 * 7: manifests have `realm`.
 * 8: manifests have `jobs`.
 */
const FORMAT = 8

export type StoredSolution = {
  readonly prepared: PreparedSolution
  /** False if an older host stored the data. Uploading the same bundle again then prepares it again. */
  readonly isCurrent: boolean
}

export function writeStored(prepared: PreparedSolution): string {
  return JSON.stringify({ format: FORMAT, ...prepared })
}

/** @param text written by `writeStored` of this or an older host */
export function readStored(text: string): StoredSolution {
  const { format = 1, ...stored } = JSON.parse(text) as Partial<PreparedSolution> & { readonly format?: number }
  return { prepared: upgrade(stored, format) as PreparedSolution, isCurrent: format === FORMAT }
}

/**
 * Converts data that an older host stored. Chosen here: some parts don't work until the bundle is uploaded again.
 * Source-text forms are empty, `onSolutionClose` is not called if it was not recorded, `scopes` is empty, and `this` in
 * a plain call has the same value as before.
 */
function upgrade(stored: Partial<PreparedSolution>, format: number): Partial<PreparedSolution> {
  if (format >= FORMAT) return stored
  const { manifest, modules = [], formScripts = [], forms = [] } = stored
  const complete = (older: Manifest): Manifest => ({
    ...older,
    signIn: format >= 5 ? older.signIn : null,
    endpoints: format >= 6 ? older.endpoints : {},
    realm: format >= 7 ? older.realm : 'fresh',
    jobs: {},
  })
  const withManifests = {
    ...stored,
    ...(manifest === undefined ? {} : { manifest: complete(manifest) }),
    modules: modules.map((module) => ({ ...module, manifest: complete(module.manifest) })),
  }
  if (format >= 4) return withManifests
  return {
    ...withManifests,
    formScripts: formScripts.map((script) => ({ ...script, functions: script.functions ?? [], bound: [] })),
    forms: forms.map(({ module, form, definition }) => ({ module, form, definition: definition ?? EMPTY_FORM })),
  }
}
