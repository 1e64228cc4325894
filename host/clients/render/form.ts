import type { Markup } from '../../../base/web/markup.ts'
import {
  type Column,
  type ElementDefinition,
  type FormDefinition,
  type Layout,
  type PanelElement,
  ROW_WIDTH,
  type Tab,
  type TabsElement,
} from '../../../runtime/forms/form-definition.ts'
import type { FormView } from '../view.ts'
import { type RenderContext, shownText } from './context.ts'
import {
  renderCheckbox,
  renderDate,
  renderNumber,
  renderPassword,
  renderRadio,
  renderSelect,
  renderTextarea,
  renderTextInput,
} from './inputs.ts'
import { directionOf, known } from './local-format.ts'
import { attributes, html } from './markup.ts'
import { isPermitted, isShown, isVisible, outlineOf, type Place } from './outline.ts'
import { elementId, labelOf, type Shown, shown, testName } from './parts.ts'
import { heading, hint, renderButton, renderHeading, renderImage, renderLabel, renderLink } from './plain-elements.ts'
import { renderTable } from './table.ts'

export type RenderedForm = {
  readonly html: string
  /** The text for the browser's title bar; not escaped. */
  readonly title: string
}

/**
 * Renders a whole form as one `<form>`. Elements that the user has no permission for are omitted. Invisible elements
 * are empty placeholders.
 * @returns null if the user has no permission for the form
 */
export function renderForm(definition: FormDefinition, view: FormView, context: RenderContext): RenderedForm | null {
  if (!isPermitted(definition, context)) return null
  const parts = { places: outlineOf(definition), view, context }
  const title = shownText(context, view.title ?? definition.title ?? context.form)
  const own = attributes({
    id: formId(context.form),
    'data-form': context.form,
    'data-saves': definition.saves !== undefined,
    'data-unsaved': definition.saves !== undefined && view.unsaved === true,
    lang: known(context.locale),
    dir: directionOf(context.locale),
    'data-cy': context.isTesting && context.form,
  })
  // Only the page's script sends data. With method=dialog, the browser doesn't submit the form.
  const form = html`<form class="form" method="dialog" novalidate autocomplete="off" aria-labelledby="${formId(context.form)}.title"${own}>${definition.saves !== undefined && html`<p class="unsaved" id="${formId(context.form)}.unsaved" aria-live="polite"></p>`}<h1 id="${formId(context.form)}.title" tabindex="-1"><bdi>${title}</bdi></h1>${renderLayout(definition.layout, parts)}</form>`
  return { html: form.text, title }
}

/**
 * Renders one element with its content, to replace the tag with the same id.
 * @returns null if the element is unknown, an ancestor is invisible, or the user has no permission for the element or
 * an ancestor
 */
export function renderElement(
  definition: FormDefinition,
  view: FormView,
  context: RenderContext,
  name: string,
): { readonly id: string; readonly html: string } | null {
  const places = outlineOf(definition)
  const place = places.get(name)
  if (place === undefined || !isPermitted(definition, context) || !isPermitted(place.element, context)) return null
  if (place.around !== null) {
    if (!isShown(place.around.place, view, context)) return null
    if (place.around.tab !== null && !isPermitted(place.around.tab, context)) return null
  }
  const markup = renderPlace(place, { places, view, context })
  return { id: elementId(context.form, name), html: markup.text }
}

/** The id of the `<form>` tag. */
function formId(form: string): string {
  return `f-${form}`
}

/** The tabs that the user may see, and the open tab. If the state names none of these tabs, the first one is open. */
export function shownTabs({ element, state, context }: Shown<TabsElement>): {
  tabs: readonly Tab[]
  open: string | null
} {
  const tabs = element.tabs.filter((tab) => isPermitted(tab, context))
  const wanted = state.value ?? element.value
  return { tabs, open: (tabs.find(({ name }) => name === wanted) ?? tabs[0])?.name ?? null }
}

type Parts = { readonly places: ReadonlyMap<string, Place>; readonly view: FormView; readonly context: RenderContext }

function renderLayout(layout: Layout, parts: Parts): Markup {
  const rows = layout.map(({ columns }) => {
    const widths = widthsOf(columns)
    const filled = columns.map(({ elements }, index) => {
      const permitted = elements.filter((element) => isPermitted(element, parts.context))
      if (permitted.length === 0 && elements.length > 0) return null
      return html`<div class="column w-${widths[index] ?? ROW_WIDTH}">${permitted.map((element) => renderNamed(element, parts))}</div>`
    })
    if (filled.every((column) => column === null)) return null
    return html`<div class="row${columns.every(({ width }) => width === undefined) && ` parts-${columns.length}`}">${filled}</div>`
  })
  return html`<div class="layout">${rows}</div>`
}

/** Columns without a width share the remaining width in whole units. */
function widthsOf(columns: readonly Column[]): readonly number[] {
  const open = columns.filter(({ width }) => width === undefined).length
  const left = ROW_WIDTH - columns.reduce((sum, { width }) => sum + (width ?? 0), 0)
  const share = Math.max(1, Math.floor(left / Math.max(1, open)))
  return columns.map(({ width }) => width ?? share)
}

function renderNamed(element: ElementDefinition, parts: Parts): Markup | null {
  const place = parts.places.get(element.name)
  return place === undefined ? null : renderPlace(place, parts)
}

function renderPlace(place: Place, parts: Parts): Markup {
  const one = shown(place, parts.view, parts.context)
  const { type } = place.element
  const isSeen = isVisible(place.element, parts.view)
  // Never hide labels, because scripts show results in them. Screen readers don't announce text that appears in a
  // hidden element.
  const own = attributes(type === 'label' ? { 'aria-live': 'polite' } : { hidden: !isSeen })
  return html`<div class="element is-${type}" id="${one.id}"${own}>${isSeen && renderContent(one, parts)}</div>`
}

function renderContent(one: Shown, parts: Parts): Markup {
  const { element } = one
  switch (element.type) {
    case 'label':
      return renderLabel({ ...one, element })
    case 'heading':
      return renderHeading({ ...one, element })
    case 'button':
      return renderButton({ ...one, element })
    case 'link':
      return renderLink({ ...one, element })
    case 'image':
      return renderImage({ ...one, element })
    case 'text':
    case 'email':
      return renderTextInput({ ...one, element })
    case 'password':
      return renderPassword({ ...one, element })
    case 'textarea':
      return renderTextarea({ ...one, element })
    case 'number':
      return renderNumber({ ...one, element })
    case 'date':
      return renderDate({ ...one, element })
    case 'checkbox':
      return renderCheckbox({ ...one, element })
    case 'select':
      return renderSelect({ ...one, element })
    case 'radio':
      return renderRadio({ ...one, element })
    case 'table':
      return renderTable({ ...one, element })
    case 'panel':
      return renderPanel({ ...one, element }, parts)
    case 'tabs':
      return renderTabs({ ...one, element }, parts)
  }
}

function renderPanel(one: Shown<PanelElement>, parts: Parts): Markup {
  const label = labelOf(one)
  const layout = renderLayout(one.element.layout, parts)
  if (label === '')
    return html`<div class="panel-body"${attributes({ 'data-cy': testName(one) })}>${hint(one)}${layout}</div>`
  return html`<div class="panel-body framed" role="group" aria-labelledby="${one.id}.label"${attributes({ 'data-cy': testName(one) })}>${heading(one.place.headingLevel, `${one.id}.label`, label)}${hint(one)}${layout}</div>`
}

/**
 * The tabs pattern of WAI-ARIA: there is one Tab stop, and arrow keys move between tabs. Closed tabs are on the page
 * but hidden. So they open immediately, and the user's input in them is preserved.
 */
function renderTabs(one: Shown<TabsElement>, parts: Parts): Markup {
  const { id, element, context, isEnabled } = one
  const { tabs, open } = shownTabs(one)
  const label = labelOf(one) || element.name
  const buttons = tabs.map(({ name, label }) => {
    const isOpen = name === open
    return html`<button role="tab"${attributes({ type: 'button', id: `${id}.tab.${name}`, 'data-tab': name, 'data-element': element.name, 'aria-selected': isOpen ? 'true' : 'false', 'aria-controls': `${id}.panel.${name}`, tabindex: isOpen ? 0 : -1, disabled: !isEnabled })}><bdi>${shownText(context, label)}</bdi></button>`
  })
  const panels = tabs.map(
    ({ name, layout }) =>
      html`<div class="tab-panel" role="tabpanel" tabindex="0"${attributes({ id: `${id}.panel.${name}`, 'aria-labelledby': `${id}.tab.${name}`, hidden: name !== open })}>${renderLayout(layout, parts)}</div>`,
  )
  return html`<div class="tabs-body"><div role="tablist" aria-label="${label}"${attributes({ 'data-cy': testName(one) })}>${buttons}</div>${panels}</div>${hint(one)}`
}
