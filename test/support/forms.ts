import { Findings } from '../../runtime/bundle/findings.ts'
import { checkForm } from '../../runtime/forms/check-form.ts'
import type { FormDefinition } from '../../runtime/forms/form-definition.ts'
import type { FormSurroundings } from '../../runtime/forms/form-references.ts'

const FORM_FILE = 'forms/orders.json'

/** Returns a form with these elements in one column, in the format that authors write. */
export function formWith(...elements: readonly unknown[]): Record<string, unknown> {
  return { layout: [{ columns: [{ elements }] }] }
}

export type FormCheck = {
  readonly form: FormDefinition | null
  /** The errors, each as `code: message`. */
  readonly faults: readonly string[]
  readonly warnings: readonly string[]
}

/**
 * Validates a form as an upload does. By default, everything that the form refers to exists. `around` can change that.
 */
export function checkedForm(value: unknown, around: Partial<FormSurroundings> = {}): FormCheck {
  const found = new Findings()
  const surroundings = {
    script: 'forms/orders.js',
    hasScript: true,
    functions: null,
    texts: new Set<string>(),
    defaultTexts: new Set<string>(),
    media: new Set<string>(),
    permissions: null,
    isLoginForm: false,
    ...around,
  }
  const form = checkForm(value, FORM_FILE, surroundings, found)
  const texts = (list: readonly { code: string; message: string }[]) =>
    list.map(({ code, message }) => `${code}: ${message}`)
  return { form, faults: texts(found.faults), warnings: texts(found.warnings) }
}
