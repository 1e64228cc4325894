import type { Option } from '../../runtime/forms/form-definition.ts'
import type { Json } from '../../runtime/plugin.ts'
import { type RenderContext, shownText } from '../clients/render/context.ts'
import { optionsOf } from '../clients/render/inputs.ts'
import { isEnabled, isPermitted, isShown, outlineOf, type Place } from '../clients/render/outline.ts'
import { labelOf, type Shown, shown } from '../clients/render/parts.ts'
import type { Screen } from '../clients/screen.ts'

/** Plain data that describes the open form and its elements as the user sees them. */
export type FormState = {
  readonly form: string | null
  readonly title: string
  readonly unsaved: boolean
  readonly elements: Readonly<Record<string, Json>>
}

export function formState(screen: Screen): FormState {
  const { shown: form } = screen
  const definition = form === null ? null : screen.definitionOf(form)
  if (form === null || definition === null) return { form, title: '', unsaved: false, elements: {} }
  const context = screen.contextOf(form)
  // The page only says that the user has no permission.
  if (!isPermitted(definition, context)) return { form: null, title: '', unsaved: false, elements: {} }
  const view = screen.viewOf(form)
  const title = shownText(context, view.title ?? definition.title)
  const unsaved = view.unsaved === true
  const places = [...outlineOf(definition)].filter(([, place]) => isPermittedInAll(place, shown(place, view, context)))
  const elements = places.map(([name, place]) => [name, elementState(shown(place, view, context))] as const)
  return { form, title, unsaved, elements: Object.fromEntries(elements) }
}

/**
 * Elements that the user has no permission for are absent for tests too. Hidden elements are present, with `visible:
 * false`.
 */
function isPermittedInAll(place: Place, { context }: Shown): boolean {
  for (let one: Place | undefined = place; one !== undefined; one = one.around?.place) {
    const tab = one.around?.tab
    if (!isPermitted(one.element, context) || (tab && !isPermitted(tab, context))) return false
  }
  return true
}

function elementState(one: Shown): Json {
  const { element, place, state, view, context } = one
  const written = element as Readonly<Record<string, Json | undefined>>
  const given = (name: 'value' | 'required' | 'href' | 'src') => {
    const value = (state[name] as Json | undefined) ?? written[name]
    return value === undefined ? {} : { [name]: value }
  }
  return {
    type: element.type,
    label: labelOf(one),
    visible: isShown(place, view, context),
    enabled: isEnabled(place, view),
    ...('required' in element || element.type === 'tabs' ? { value: null } : {}),
    ...given('value'),
    ...given('required'),
    ...given('href'),
    ...given('src'),
    ...(state.error ? { error: shownText(context, state.error) } : {}),
    ...(element.type === 'select' || element.type === 'radio'
      ? { options: translated(optionsOf({ ...one, element }), context) }
      : {}),
    ...(element.type === 'table' ? { rows: state.rows ?? [], selected: (state.selected ?? []) as Json } : {}),
  }
}

function translated(options: readonly Option[], context: RenderContext): Json {
  return options.map(({ value, label }) => ({ value, label: shownText(context, label) }))
}
