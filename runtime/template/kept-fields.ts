import type { DefaultTreeAdapterTypes as Tree } from 'parse5'
import { attributeValue, inputType } from './attribute-places.ts'
import type { OptionValue, Piece } from './compiled-template.ts'
import { splitPlaceholders } from './placeholders.ts'
import { isElement, isHtml } from './serialise.ts'

const NEVER_KEPT: ReadonlySet<string> = new Set('password hidden submit button reset file image'.split(' '))

/**
 * How a field shows a preserved value: in its value attribute, in its content, with `checked`, or as a selected option.
 */
export type KeptField = { readonly field: string; readonly by: 'value' | 'text' | 'checked' | 'option' }

/** Returns how an element shows its preserved value; null if its value is never preserved. */
export function keptField(element: Tree.Element): KeptField | null {
  const field = attributeValue(element, 'name') ?? ''
  const custom = /^custom_[A-Za-z0-9_.-]{1,64}$/.test(field)
  if (!custom && field !== 'username') return null
  if (isHtml(element, 'textarea')) return { field, by: 'text' }
  if (isHtml(element, 'select')) return custom ? { field, by: 'option' } : null
  const type = isHtml(element, 'input') ? inputType(element) : null
  if (type === null || NEVER_KEPT.has(type)) return null
  if (type !== 'checkbox' && type !== 'radio') return { field, by: 'value' }
  return custom ? { field, by: 'checked' } : null
}

/** The value that a checked box submits; `on` if it has none. */
export function boxValue(element: Tree.Element): readonly Piece[] {
  return splitPlaceholders(attributeValue(element, 'value') ?? 'on')
}

export function optionValue(option: Tree.Element): OptionValue {
  const value = attributeValue(option, 'value')
  if (value !== null) return { pieces: splitPlaceholders(value), collapse: false }
  return { pieces: splitPlaceholders(textOf(option)), collapse: true }
}

function textOf(element: Tree.Element): string {
  const texts: string[] = []
  const open: Tree.ChildNode[] = element.childNodes.toReversed()
  for (let node = open.pop(); node; node = open.pop()) {
    if (node.nodeName === '#text') texts.push((node as Tree.TextNode).value)
    else if (isElement(node) && node.tagName !== 'script') open.push(...node.childNodes.toReversed())
  }
  return texts.join('')
}
