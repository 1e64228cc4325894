import type { FormUpdate } from '../../plugins/forms/host.ts'
import type { ElementState, FormView } from './view.ts'

/** The state of a client's forms: changes made by scripts, and validation errors found by the host. */
export interface FormViews {
  of(form: string): FormView
  apply(update: FormUpdate): void
  /**
   * Marks an input as invalid or missing until `clearFault` is called or a script sets its value or error.
   * @param text explains why, in the user's language
   * @param entered the invalid value that the input keeps showing, so that the user can correct it. Scripts don't see
   *   it. Null if the host doesn't know the value, because the browser can't read it as a number or date
   */
  setFault(form: string, element: string, text: string, entered?: string | number | null): void
  clearFault(form: string, element: string): void
  hasFault(form: string, element: string): boolean
  /** Forgets all errors found by the host and all invalid values, because the form is shown again. */
  clearFaults(form: string): void
  /** Call this when the page was reloaded: forgets the invalid values that only the browser knew. */
  forgetUnreadable(): void
  hasFaults(form: string): boolean
  /** Whether the input shows an invalid value. */
  isInvalid(form: string, element: string): boolean
  /** Whether any input of the form shows an invalid value. */
  hasInvalid(form: string): boolean
}

type Kept = {
  title?: string
  unsaved?: boolean
  readonly elements: Map<string, ElementState>
  readonly faults: Map<string, Fault>
}
type Fault = { readonly error: string; readonly value?: string | number | null }

export function createFormViews(): FormViews {
  const forms = new Map<string, Kept>()

  function keep(form: string): Kept {
    const found = forms.get(form) ?? { elements: new Map(), faults: new Map() }
    forms.set(form, found)
    return found
  }

  function hasInvalid(form: string): boolean {
    return keep(form)
      .faults.values()
      .some(({ value }) => value !== undefined)
  }

  return {
    of(form) {
      const { faults, ...view } = keep(form)
      const { elements } = view
      if (faults.size === 0) return view
      // An invalid value that the input still shows is input that nobody has saved.
      const isInvalid = hasInvalid(form)
      const shown = new Map(elements)
      for (const [name, fault] of faults) shown.set(name, { ...elements.get(name), ...fault })
      return { ...view, ...(isInvalid ? { unsaved: true } : {}), elements: shown }
    },
    apply({ form, title, unsaved, elements }) {
      const kept = keep(form)
      if (title !== undefined) kept.title = title
      if (unsaved !== undefined) kept.unsaved = unsaved
      for (const [name, state] of Object.entries(elements)) {
        kept.elements.set(name, { ...kept.elements.get(name), ...state } as ElementState)
        if ('value' in state || 'error' in state) kept.faults.delete(name)
      }
    },
    setFault(form, element, error, value) {
      keep(form).faults.set(element, { error, ...(value === undefined ? {} : { value }) })
    },
    clearFault: (form, element) => void keep(form).faults.delete(element),
    hasFault: (form, element) => keep(form).faults.has(element),
    clearFaults: (form) => keep(form).faults.clear(),
    forgetUnreadable() {
      for (const { faults } of forms.values())
        for (const [element, { value }] of faults) if (value === null) faults.delete(element)
    },
    hasFaults: (form) => keep(form).faults.size > 0,
    isInvalid: (form, element) => keep(form).faults.get(element)?.value !== undefined,
    hasInvalid,
  }
}
