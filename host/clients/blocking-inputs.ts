import type { FormDefinition } from '../../runtime/forms/form-definition.ts'
import { isInput } from './check-event.ts'
import { isMissing } from './check-input.ts'
import type { RenderContext } from './render/context.ts'
import { isEnabled, isShown, outlineOf } from './render/outline.ts'
import { shown } from './render/parts.ts'
import type { FormView } from './view.ts'

type Checks = {
  /** Whether required inputs must be filled in. */
  readonly needsRequired: boolean
  /** Whether the input shows an invalid value. */
  readonly isInvalid: (name: string) => boolean
}

type BlockingInput = { readonly name: string; readonly isInvalid: boolean }

/** The visible and enabled inputs that prevent the form from being submitted, in page order. */
export function blockingInputs(
  definition: FormDefinition,
  view: FormView,
  context: RenderContext,
  { needsRequired, isInvalid }: Checks,
): readonly BlockingInput[] {
  return [...outlineOf(definition).values()].flatMap((place): readonly BlockingInput[] => {
    const { element } = place
    if (!isInput(element) || !isShown(place, view, context) || !isEnabled(place, view)) return []
    const { name } = element
    if (isInvalid(name)) return [{ name, isInvalid: true }]
    const isEmpty = needsRequired && isMissing({ ...shown(place, view, context), element })
    return isEmpty ? [{ name, isInvalid: false }] : []
  })
}
