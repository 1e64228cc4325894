import type { FormDefinition } from '../../runtime/forms/form-definition.ts'
import { isInput } from './check-event.ts'
import { isMissing } from './check-input.ts'
import type { RenderContext } from './render/context.ts'
import { isEnabled, isShown, outlineOf } from './render/outline.ts'
import { shown } from './render/parts.ts'
import type { FormView } from './view.ts'

/** The names of required inputs that are empty, in page order. */
export function missingInputs(definition: FormDefinition, view: FormView, context: RenderContext): string[] {
  return [...outlineOf(definition).values()].flatMap((place) => {
    if (!isInput(place.element) || !isShown(place, view, context) || !isEnabled(place, view)) return []
    return isMissing({ ...shown(place, view, context), element: place.element }) ? [place.element.name] : []
  })
}
