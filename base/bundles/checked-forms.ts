import { setImmediate } from 'node:timers/promises'
import type { Bundle } from '../../runtime/bundle/bundle.ts'
import type { Fault } from '../../runtime/bundle/faults.ts'
import { boundsProblem } from '../../runtime/forms/form-bounds.ts'
import type { FormDefinition } from '../../runtime/forms/form-definition.ts'
import { FormSchema } from '../../runtime/forms/form-schema.ts'
import type { CheckedFiles } from '../../runtime/protocol.ts'

/**
 * Maximum number of characters that defaults add to a form: a few hundred for each of up to 1,000 elements and 20,000
 * items.
 */
const MOST_ADDED = 2 * 1024 ** 2

/**
 * Reads a bundle's forms, which a sandbox process has parsed. That process also ran untrusted files, so the shape and
 * size of its result are validated again. The validation fails only if the process was compromised.
 * @returns an error if the validation fails
 */
export async function readCheckedForms(
  bundle: Pick<Bundle, 'forms'>,
  checked: Pick<CheckedFiles, 'forms'>,
): Promise<{ readonly forms: readonly FormDefinition[]; readonly fault: Fault | null }> {
  const forms: FormDefinition[] = []
  for (const [index, { file, source }] of bundle.forms.entries()) {
    // Lets the host's other work run between files.
    await setImmediate()
    const form = readForm(checked.forms[index], source.length + MOST_ADDED)
    if (form === null) {
      const message = 'the sandbox process returned an invalid form'
      return { forms: [], fault: { code: 'form_invalid', file, message } }
    }
    forms.push(form)
  }
  return { forms, fault: null }
}

function readForm(value: unknown, maxLength: number): FormDefinition | null {
  if (boundsProblem(value) !== null || JSON.stringify(value ?? null).length > maxLength) return null
  return FormSchema.safeParse(value).data ?? null
}
