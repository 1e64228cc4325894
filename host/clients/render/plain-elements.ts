import { Markup } from '../../../base/web/markup.ts'
import type {
  ButtonElement,
  HeadingElement,
  ImageElement,
  LabelElement,
  LinkElement,
} from '../../../runtime/forms/form-definition.ts'
import { leavesServer, mediaAddress, safeAddress } from './addresses.ts'
import { ownText, shownText } from './context.ts'
import { attributes, html } from './markup.ts'
import { control, labelOf, type Shown, testName } from './parts.ts'

export function renderLabel(shown: Shown<LabelElement>): Markup {
  return html`<p class="text"${attributes({ 'data-cy': testName(shown) })}><bdi>${labelOf(shown)}</bdi></p>${hint(shown)}`
}

export function renderHeading(shown: Shown<HeadingElement>): Markup {
  return html`${heading(shown.place.headingLevel, `${shown.id}.label`, labelOf(shown), testName(shown))}${hint(shown)}`
}

/** @param level the heading level, 2 to 6; it is not escaped, so it must be trusted */
export function heading(level: number, id: string, text: string, testName: string | false = false): Markup {
  const tag = new Markup(`h${level}`)
  return html`<${tag}${attributes({ id, 'data-cy': testName })}><bdi>${text}</bdi></${tag}>`
}

/**
 * Renders a primary button as a submit button. Browsers activate the submit button when users press Enter in an input.
 */
export function renderButton(shown: Shown<ButtonElement>): Markup {
  const { kind, style = kind } = shown.element
  const type = kind === 'primary' ? 'submit' : 'button'
  return html`<button class="button ${style}"${attributes({ type, ...own(shown) })}${control(shown)} data-press><bdi>${labelOf(shown)}</bdi></button>${hint(shown)}`
}

/** A link that is disabled, or has no allowed URL, is rendered as text. */
export function renderLink(shown: Shown<LinkElement>): Markup {
  const { element, state, context, isEnabled } = shown
  const label = html`<bdi>${labelOf(shown)}</bdi>`
  if (element.onAction !== undefined && state.href === undefined) {
    return html`<button class="link"${attributes({ type: 'button', ...own(shown) })}${control(shown)} data-press>${label}</button>${hint(shown)}`
  }
  const address = safeAddress(state.href ?? element.href)
  if (address === null || !isEnabled) {
    return html`<p class="text quiet"${attributes({ 'data-cy': testName(shown) })}>${label}</p>${hint(shown)}`
  }
  const isAway = leavesServer(address)
  const target = isAway ? { target: '_blank', rel: 'noopener noreferrer' } : {}
  return html`<p class="text"><a${attributes({ href: address, ...target, ...own(shown) })}>${label}${isAway && html` <span class="hidden">${ownText(context, 'platform.form.newwindow')}</span><span class="away" aria-hidden="true">↗</span>`}</a></p>${hint(shown)}`
}

export function renderImage(shown: Shown<ImageElement>): Markup {
  const { element, state, context } = shown
  const { mediaBase, mediaVersion } = context
  const address = mediaAddress(mediaBase, state.src ?? element.src)
  const src = address === null || mediaVersion === undefined ? address : `${address}?version=${mediaVersion}`
  const alt = shownText(context, state.alt ?? element.alt)
  if (src === null)
    return html`<p class="text quiet"${attributes({ 'data-cy': testName(shown) })}><bdi>${alt}</bdi></p>`
  const image = html`<img${attributes({ src, alt, 'data-cy': testName(shown) })}>`
  const label = labelOf(shown)
  if (label === '') return html`${image}${hint(shown)}`
  return html`<figure>${image}<figcaption><bdi>${label}</bdi></figcaption></figure>${hint(shown)}`
}

function own(shown: Shown) {
  const { id } = shown
  return { id: `${id}.input`, 'data-cy': testName(shown), 'aria-describedby': hintText(shown) !== '' && `${id}.hint` }
}

function hintText({ context, state, element }: Shown): string {
  return shownText(context, state.hint ?? element.hint)
}

/** The hint below an element that is not an input. */
export function hint(shown: Shown): Markup | false {
  const text = hintText(shown)
  return text !== '' && html`<p class="hint" id="${shown.id}.hint"><bdi>${text}</bdi></p>`
}
