import { escapeHtml, Markup } from '../../../base/web/markup.ts'

/** Values allowed in a template. `false`, `null` and `undefined` render nothing; a list renders its items in order. */
export type Part = Markup | string | number | false | null | undefined | readonly Part[]

/** Creates markup in which every value is escaped, so it is safe in text and in double-quoted attributes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  let text = strings[0] ?? ''
  parts.forEach((part, index) => {
    text += textOf(part) + (strings[index + 1] ?? '')
  })
  return new Markup(text)
}

/**
 * Attributes, each preceded by a space. The value `true` renders an attribute without a value; `false`, `null` and
 * `undefined` omit it.
 * @param values the names must be trusted
 */
export function attributes(values: Readonly<Record<string, string | number | boolean | null | undefined>>): Markup {
  let text = ''
  for (const [name, value] of Object.entries(values)) {
    if (value === true) text += ` ${name}`
    else if (value !== false && value != null) text += ` ${name}="${escaped(String(value))}"`
  }
  return new Markup(text)
}

/**
 * Escapes a text for HTML. Control characters are not valid HTML, and an unpaired surrogate would break the frame. Both
 * are replaced with U+FFFD.
 */
function escaped(text: string): string {
  return escapeHtml(text.toWellFormed().replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '\ufffd'))
}

function textOf(part: Part): string {
  if (part instanceof Markup) return part.text
  if (typeof part === 'string') return escaped(part)
  if (typeof part === 'number') return String(part)
  return Array.isArray(part) ? part.map(textOf).join('') : ''
}
