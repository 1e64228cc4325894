import type { FormUpdate } from '../../plugins/forms/host.ts'
import type { ElementState, FormView } from './view.ts'

/** The state of a client's forms: changes made by scripts, and validation errors found by the host. */
export interface FormViews {
  of(form: string): FormView
  apply(update: FormUpdate): void
  /** Marks an input as invalid or missing until `clearFault` is called. `text` explains why, in the user's language. */
  setFault(form: string, element: string, text: string): void
  /** @returns whether the input had an error */
  clearFault(form: string, element: string): boolean
  hasFaults(form: string): boolean
}

type Kept = {
  title?: string
  unsaved?: boolean
  readonly elements: Map<string, ElementState>
  readonly faults: Map<string, string>
}

export function createFormViews(): FormViews {
  const forms = new Map<string, Kept>()

  function keep(form: string): Kept {
    const found = forms.get(form) ?? { elements: new Map(), faults: new Map() }
    forms.set(form, found)
    return found
  }

  return {
    of(form) {
      const { faults, ...view } = keep(form)
      const { elements } = view
      if (faults.size === 0) return view
      const shown = new Map(elements)
      for (const [name, error] of faults) shown.set(name, { ...elements.get(name), error })
      return { ...view, elements: shown }
    },
    apply({ form, title, unsaved, elements }) {
      const kept = keep(form)
      if (title !== undefined) kept.title = title
      if (unsaved !== undefined) kept.unsaved = unsaved
      for (const [name, state] of Object.entries(elements)) {
        kept.elements.set(name, { ...kept.elements.get(name), ...state } as ElementState)
      }
    },
    setFault: (form, element, text) => void keep(form).faults.set(element, text),
    clearFault: (form, element) => keep(form).faults.delete(element),
    hasFaults: (form) => keep(form).faults.size > 0,
  }
}
