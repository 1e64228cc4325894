/** Markup that a template shows as it stands. Everything else is escaped. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toString(): string {
    return this.text
  }
}

const REFERENCES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** How a value stands in a template: the values of an array one after the other, `null` and `undefined` as nothing. */
export function escaped(value: unknown): string {
  if (value instanceof Markup) return value.text
  if (Array.isArray(value)) return value.map(escaped).join('')
  if (value === null || value === undefined) return ''
  return String(value).replace(/[&<>"']/g, (character) => REFERENCES[character] ?? '')
}

/** Markup in which all values are escaped, so that a name from outside stays a text. */
export function html(parts: TemplateStringsArray, ...values: readonly unknown[]): Markup {
  return new Markup(String.raw({ raw: parts }, ...values.map(escaped)))
}

/** Attributes of a tag: `true` is one without a value; those that are `false`, `null` or `undefined` are left out. */
export function attributes(named: Readonly<Record<string, unknown>>): Markup {
  const present = Object.entries(named).filter(([, value]) => value !== false && value !== null && value !== undefined)
  return new Markup(
    present.map(([name, value]) => (value === true ? ` ${name}` : ` ${name}="${escaped(value)}"`)).join(''),
  )
}
