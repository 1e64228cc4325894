/** HTML that is safe to put into a page. Only `html` makes it, so a text from outside is never taken for markup. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** What may stand in a template: `false`, `null` and `undefined` are nothing, a list is its parts one after another. */
export type Part = Markup | string | number | false | null | undefined | readonly Part[]

/** Markup with every value escaped, fit for text and for attributes in double quotes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  let text = strings[0] ?? ''
  parts.forEach((part, index) => {
    text += textOf(part) + (strings[index + 1] ?? '')
  })
  return new Markup(text)
}

/**
 * Attributes, each with a space before it: `true` is an attribute without a value; `false`, `null` and `undefined` leave
 * it out.
 * @param values names are our own, never from outside
 */
export function attributes(values: Readonly<Record<string, string | number | boolean | null | undefined>>): Markup {
  let text = ''
  for (const [name, value] of Object.entries(values)) {
    if (value === true) text += ` ${name}`
    else if (value !== false && value != null) text += ` ${name}="${escaped(String(value))}"`
  }
  return new Markup(text)
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Control characters are no HTML, and half a character would break the frame that carries it: both become U+FFFD. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '\ufffd')
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

function textOf(part: Part): string {
  if (part instanceof Markup) return part.text
  if (typeof part === 'string') return escaped(part)
  if (typeof part === 'number') return String(part)
  return Array.isArray(part) ? part.map(textOf).join('') : ''
}
