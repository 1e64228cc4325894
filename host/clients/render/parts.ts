import type { Markup } from '../../../base/web/markup.ts'
import type { ElementDefinition } from '../../../runtime/forms/form-definition.ts'
import type { ElementState, FormView } from '../view.ts'
import { ownText, type RenderContext, shownText } from './context.ts'
import { attributes, html } from './markup.ts'
import { isEnabled, type Place, stateOf } from './outline.ts'

/** An element, and everything needed to render it. */
export type Shown<Element extends ElementDefinition = ElementDefinition> = {
  readonly element: Element
  readonly place: Place
  readonly state: ElementState
  readonly view: FormView
  readonly context: RenderContext
  readonly id: string
  readonly isEnabled: boolean
}

/** The element types that browsers may send `onElementDataChange` for. */
export type InputDefinition = Extract<ElementDefinition, { readonly required: boolean }>

/** The id of an element's outermost tag. Ids are unambiguous, since element names contain neither hyphens nor dots. */
export function elementId(form: string, element: string): string {
  return `e-${form}-${element}`
}

export function shown(place: Place, view: FormView, context: RenderContext): Shown {
  const { element } = place
  const state = stateOf(view, element.name)
  return {
    element,
    place,
    state,
    view,
    context,
    id: elementId(context.form, element.name),
    isEnabled: isEnabled(place, view),
  }
}

export function labelOf({ element, state, context }: Shown): string {
  return shownText(context, state.label ?? element.label)
}

/** The name that end-to-end tests use to find an element; only in testing mode. */
export function testName({ element, context }: Shown): string | false {
  return context.isTesting && `${context.form}.${element.name}`
}

/** Attributes for the browser script: the element's name, and the events that have listeners. */
export function control({ element, context, isEnabled }: Shown): Markup {
  const asked = ['onElementFocusGained', 'onElementFocusLost', 'onAction'].filter(
    (event) =>
      context.listenedEvents?.has(event) || (element as Readonly<Record<string, unknown>>)[event] !== undefined,
  )
  return attributes({
    'data-element': element.name,
    'data-events': asked.length > 0 && asked.join(' '),
    disabled: !isEnabled,
  })
}

/** ARIA attributes that link an input to its hint and error. */
export function described(shown: Shown, further: string | false = false): Markup {
  const { id, state, context, element } = shown
  const ids = [
    further,
    shownText(context, state.hint ?? element.hint) !== '' && `${id}.hint`,
    hasError(shown) && `${id}.error`,
  ].filter((one) => one !== false)
  return attributes({
    'aria-describedby': ids.length > 0 && ids.join(' '),
    'aria-invalid': hasError(shown) && 'true',
  })
}

export function hasError({ state }: Shown): boolean {
  return state.error !== undefined && state.error !== null && state.error !== ''
}

export function isRequired({ element, state }: Shown<InputDefinition>): boolean {
  return state.required ?? element.required
}

/** The asterisk next to a required input. Screen readers use the `required` attribute instead. */
export function requiredMark(shown: Shown<InputDefinition>): Markup | false {
  return isRequired(shown) && html`<span class="required" aria-hidden="true"> *</span>`
}

/** The hint and error below an input. The error's element always exists, so that screen readers announce changes. */
export function notes({ id, state, context, element }: Shown): Markup {
  const hint = shownText(context, state.hint ?? element.hint)
  const error = shownText(context, state.error)
  return html`${hint !== '' && html`<p class="hint" id="${id}.hint"><bdi>${hint}</bdi></p>`}<p class="fault" id="${id}.error" aria-live="polite">${error !== '' && html`<span class="hidden">${ownText(context, 'platform.form.error')} </span><bdi>${error}</bdi>`}</p>`
}
