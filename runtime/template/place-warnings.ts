import type { DefaultTreeAdapterTypes as Tree } from 'parse5'
import { addressScheme, isAllowedScheme } from './address.ts'
import { type AttributePlace, attributePlace, isHandler } from './attribute-places.ts'
import { blockedAddress, blockedInStyle } from './blocked-addresses.ts'
import type { LoginForm } from './login-form.ts'
import { type FoundPlaceholder, findPlaceholders, hasPlaceholder, splitPlaceholders } from './placeholders.ts'
import { quoteText, type TemplateWarnings } from './template-warnings.ts'

/** A range in the source, as offsets from the parser. */
export type Span = readonly [start: number, end: number]

const NAME_ADVICE =
  "the placeholder is part of an attribute's name, so the attribute is removed; write the name without placeholders"
const HANDLER_ADVICE = 'does not run under the Content-Security-Policy; use addEventListener in a <script>'
const STYLE_ADVICE =
  'the Content-Security-Policy blocks style attributes; give the element a class and write the rule in a <style>'

/**
 * Adds warnings for one place in a template: placeholders that stay empty, and URLs that the Content-Security-Policy
 * blocks.
 */
export class PlaceWarnings {
  private readonly login: LoginForm
  private readonly source: string
  private readonly warnings: TemplateWarnings

  constructor(login: LoginForm, source: string, warnings: TemplateWarnings) {
    this.login = login
    this.source = source
    this.warnings = warnings
  }

  attribute(element: Tree.Element, name: string, value: string): void {
    const place = attributeOffset(element, name)
    if (hasPlaceholder(name)) this.empty(name, place, NAME_ADVICE)
    if (isHandler(name)) this.warnings.add('template_inline_handler', `${quoteText(name)} ${HANDLER_ADVICE}`, place[0])
    if (name === 'style') this.warnings.add('template_inline_style', STYLE_ADVICE, place[0])
    const blocked = this.blocked(element, name, value)
    if (blocked !== null) this.warnings.add('template_blocked_address', blocked, place[0])
    if (hasPlaceholder(value)) this.warnPlace(attributePlace(element, name), value, place)
  }

  private blocked(element: Tree.Element, name: string, value: string): string | null {
    const sendsLogin =
      element === this.login.form ? name === 'action' : this.login.owned.has(element) && name === 'formaction'
    if (!sendsLogin) return blockedAddress(element, name, value)
    if (/^(?:\.\/)?(?:index\.html)?(?:[?#]|$)/.test(value.trim())) return null
    return `the login form is always sent to its own page, so ${quoteText(value)} is ignored; remove the ${name} attribute`
  }

  private warnPlace(place: AttributePlace, value: string, span: Span): void {
    if (place.kind === 'none') this.empty(value, span, place.reason)
    if (place.kind !== 'address') return
    const first = splitPlaceholders(value)[0]
    if (typeof first !== 'string' || isAllowedScheme(addressScheme(first))) return
    const reason = `a URL that contains a placeholder must be http, https, mailto or relative, not ${quoteText(first)}`
    this.empty(value, span, reason)
  }

  style(element: Tree.Element): void {
    for (const node of element.childNodes) {
      if (node.nodeName !== '#text') continue
      for (const { offset, message } of blockedInStyle((node as Tree.TextNode).value)) {
        this.warnings.add('template_blocked_address', message, (nodePlace(node)[0] ?? 0) + offset)
      }
    }
  }

  /** Adds a warning for each placeholder in `text`. `span` is the range of the source that contains the text. */
  empty(text: string, span: Span, reason: string): void {
    this.warnFound(findPlaceholders(text), findPlaceholders(text), span, reason)
  }

  emptied(node: Tree.TextNode, emptied: readonly FoundPlaceholder[], reason: string): void {
    this.warnFound(emptied, findPlaceholders(node.value), nodePlace(node), reason)
  }

  /**
   * Adds a warning for each placeholder in `emptied`. Searches for the placeholders in order to find their positions in
   * the source, because the parser moves text.
   */
  private warnFound(
    emptied: readonly FoundPlaceholder[],
    all: readonly FoundPlaceholder[],
    [start, end]: Span,
    reason: string,
  ): void {
    const starts = new Set(emptied.map((placeholder) => placeholder.start))
    const source = emptied.length > 0 ? this.source.slice(start, end) : ''
    let from = 0
    for (const placeholder of all) {
      const at = from < 0 ? -1 : source.indexOf(placeholder.text, from)
      if (starts.has(placeholder.start)) {
        const message = `${quoteText(placeholder.text)} stays empty: ${reason}`
        this.warnings.add('template_placeholder', message, start + Math.max(0, at))
      }
      from = at < 0 ? -1 : at + placeholder.text.length
    }
  }
}

export function nodePlace(node: Tree.ChildNode): Span {
  const place = node.sourceCodeLocation
  return [place?.startOffset ?? 0, place?.endOffset ?? 0]
}

/** The parser stores the position of an attribute under its name in lower case. */
function attributeOffset(element: Tree.Element, name: string): Span {
  const places = element.sourceCodeLocation?.attrs ?? {}
  const place = places[name] ?? places[name.toLowerCase()]
  return place ? [place.startOffset, place.endOffset] : nodePlace(element)
}
