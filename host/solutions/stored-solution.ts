import { EMPTY_FORM, type PreparedSolution } from '../../base/bundles/prepared-solution.ts'

/**
 * The form in which prepared solutions are written. Raise it when what older hosts wrote is not what is read here, and
 * say in `upgrade` what becomes of theirs.
 *
 * 1 (no number was written): forms as source texts, form scripts without their functions.
 * 2: forms as definitions, form scripts with the names of their functions.
 * 3: `entries` of main tell of `onSolutionClose` too.
 * 4: form scripts with the functions whose `this` is the form in a plain call too, scripts with what `scopes` has of them.
 */
const FORMAT = 4

export type StoredSolution = {
  readonly prepared: PreparedSolution
  /** False for what an older host wrote: the same bundle, sent again, is then prepared anew. */
  readonly isCurrent: boolean
}

export function writeStored(prepared: PreparedSolution): string {
  return JSON.stringify({ format: FORMAT, ...prepared })
}

/** @param text as `writeStored` of this or an older host made it */
export function readStored(text: string): StoredSolution {
  const { format = 1, ...stored } = JSON.parse(text) as Partial<PreparedSolution> & { readonly format?: number }
  return { prepared: upgrade(stored, format) as PreparedSolution, isCurrent: format === FORMAT }
}

/**
 * Chosen here: forms that no host has shown yet are empty, an `onSolutionClose` that none has called yet is not called,
 * `scopes` is empty and `this` in a plain call is what it was, until their bundle is sent again; everything else goes on.
 */
function upgrade(stored: Partial<PreparedSolution>, format: number): Partial<PreparedSolution> {
  if (format >= FORMAT) return stored
  const { formScripts = [], forms = [] } = stored
  return {
    ...stored,
    formScripts: formScripts.map((script) => ({ ...script, functions: script.functions ?? [], bound: [] })),
    forms: forms.map(({ module, form, definition }) => ({ module, form, definition: definition ?? EMPTY_FORM })),
  }
}
