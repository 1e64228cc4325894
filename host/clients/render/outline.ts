import type { ElementDefinition, FormDefinition, Layout, Tab } from '../../../runtime/forms/form-definition.ts'
import type { ElementState, FormView } from '../view.ts'
import type { RenderContext } from './context.ts'

/** An element's position within its form. */
export type Place = {
  readonly element: ElementDefinition
  /** The enclosing panel or tabs element and, for tabs, the tab that contains the element; null at the top level. */
  readonly around: { readonly place: Place; readonly tab: Tab | null } | null
  /** For headings and panel labels: the heading level from 2 to 6, at most one below the preceding heading. */
  readonly headingLevel: number
}

const NOTHING: ElementState = {}
const outlines = new WeakMap<FormDefinition, ReadonlyMap<string, Place>>()

/** All elements in a form by name. Cached per definition. */
export function outlineOf(form: FormDefinition): ReadonlyMap<string, Place> {
  let outline = outlines.get(form)
  if (outline === undefined) {
    outline = walk(form)
    outlines.set(form, outline)
  }
  return outline
}

/** Returns the properties of an element that scripts have changed. */
export function stateOf(view: FormView, name: string): ElementState {
  return view.elements.get(name) ?? NOTHING
}

/**
 * Whether the browser gets an element. The element and its ancestors must be visible, and the user must have permission
 * for them. Elements in closed tabs are included, because the browser opens tabs without the host.
 */
export function isShown(place: Place, view: FormView, context: RenderContext): boolean {
  for (let one: Place | undefined = place; one !== undefined; one = one.around?.place) {
    if (!isPermitted(one.element, context) || !isVisible(one.element, view)) return false
    const tab = one.around?.tab
    if (tab && !isPermitted(tab, context)) return false
  }
  return true
}

/** Whether an element and its ancestors are enabled. */
export function isEnabled(place: Place, view: FormView): boolean {
  for (let one: Place | undefined = place; one !== undefined; one = one.around?.place) {
    if (!(stateOf(view, one.element.name).enabled ?? one.element.enabled)) return false
  }
  return true
}

export function isVisible(element: ElementDefinition, view: FormView): boolean {
  return stateOf(view, element.name).visible ?? element.visible
}

export function isPermitted({ permission }: { permission?: string | undefined }, context: RenderContext): boolean {
  return permission === undefined || context.permissions.has(permission)
}

function walk(form: FormDefinition): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>()
  /** Never skips a heading level, even if the definition does. Screen reader users navigate by headings. */
  const go = (layout: Layout, around: Place['around'], outer: number, before: number) => {
    let last = before
    for (const element of layout.flatMap(({ columns }) => columns.flatMap(({ elements }) => elements))) {
      const wanted = element.type === 'heading' ? element.level : outer + 1
      const place = { element, around, headingLevel: Math.min(Math.max(wanted, outer + 1), last + 1, 6) }
      places.set(element.name, place)
      const isHeading = element.type === 'heading' || (element.type === 'panel' && element.label !== undefined)
      if (isHeading) last = place.headingLevel
      if (element.type === 'panel') {
        go(element.layout, { place, tab: null }, isHeading ? place.headingLevel : outer, last)
      }
      if (element.type === 'tabs') for (const tab of element.tabs) go(tab.layout, { place, tab }, outer, last)
    }
  }
  go(form.layout, null, 1, 1)
  return places
}
