import { html, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { hasPlaceholder } from './placeholders.ts'

/** What may be inserted into an attribute: any text, one checked URL, or nothing (with the reason for the author). */
export type AttributePlace =
  | { readonly kind: 'text' }
  | { readonly kind: 'address'; readonly ownOrigin: boolean }
  | { readonly kind: 'none'; readonly reason: string }

const ADDRESSES: ReadonlySet<string> = new Set(
  'href src action formaction poster cite data manifest background xlink:href longdesc codebase classid profile icon lowsrc dynsrc usemap'.split(
    ' ',
  ),
)

/** Attributes that contain several URLs, or that change the meaning of the content or of other attributes. */
const UNCHECKED: ReadonlySet<string> = new Set(
  'srcset imagesrcset ping archive attributionsrc xml:base nonce srcdoc shadowrootmode'.split(' '),
)

const ANIMATIONS: ReadonlySet<string> = new Set(['animate', 'animatemotion', 'animatetransform', 'set'])
const ANIMATED: ReadonlySet<string> = new Set(['to', 'from', 'by', 'values', 'attributename'])

/** Values of `http-equiv` that load a page or restrict what the page may do. */
const HEADERS: ReadonlySet<string> = new Set(['refresh', 'content-security-policy'])

export function attributeValue(element: Tree.Element, name: string): string | null {
  return element.attrs.find((attribute) => attribute.name === name && !attribute.namespace)?.value ?? null
}

export function isScript(element: Tree.Element): boolean {
  return element.tagName === 'script' && element.namespaceURI !== html.NS.MATHML
}

export function isStyle(element: Tree.Element): boolean {
  return element.tagName === 'style' && element.namespaceURI !== html.NS.MATHML
}

export function isHandler(name: string): boolean {
  return /^on/i.test(name)
}

/** @param name the attribute's name with its prefix, as in `xlink:href` */
export function attributePlace(element: Tree.Element, name: string): AttributePlace {
  const lower = name.toLowerCase()
  const tag = element.tagName.toLowerCase()
  if (isHandler(lower))
    return none('an event handler is code; use the placeholder in a string literal in a <script> instead')
  if (lower === 'style') return none('a style attribute is code; use class names and a <style> element')
  if (UNCHECKED.has(lower))
    return none(`a value in ${lower} cannot be checked; write the attribute without placeholders`)
  if (tag === 'base') return none('the URL in <base> affects all other URLs on the page; write it without placeholders')
  if (isScript(element) && lower === 'type')
    return none('the type attribute determines whether the script runs; write it without placeholders')
  if (tag === 'meta' && lower === 'http-equiv')
    return none(
      'the attribute determines how browsers interpret the "content" attribute; write it without placeholders',
    )
  if (
    tag === 'meta' &&
    lower === 'content' &&
    HEADERS.has((attributeValue(element, 'http-equiv') ?? '').trim().toLowerCase())
  )
    return none('the attribute loads another page or sets a policy; write it without placeholders, or use a link')
  if (tag === 'annotation-xml' && lower === 'encoding')
    return none('the attribute determines how the element’s content is parsed; write it without placeholders')
  if (ANIMATIONS.has(tag) && ANIMATED.has(lower))
    return none('the attribute’s value may be used as a URL; write it without placeholders')
  if (ADDRESSES.has(lower)) return { kind: 'address', ownOrigin: isScript(element) }
  return { kind: 'text' }
}

function none(reason: string): AttributePlace {
  return { kind: 'none', reason }
}

/** Returns the type of an input in lower case; `text` if it has none, null if a placeholder sets it. */
export function inputType(element: Tree.Element): string | null {
  const type = attributeValue(element, 'type')
  if (type === null) return 'text'
  return hasPlaceholder(type) ? null : type.toLowerCase()
}
