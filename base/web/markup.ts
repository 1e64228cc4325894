/** Trusted markup that a template inserts unchanged. Everything else is escaped. */
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

/** Returns the text for a value in a template: arrays are joined, `null` and `undefined` become the empty string. */
export function escaped(value: unknown): string {
  if (value instanceof Markup) return value.text
  if (Array.isArray(value)) return value.map(escaped).join('')
  if (value === null || value === undefined) return ''
  return escapeHtml(String(value))
}

/** Escapes a text for HTML, both between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => REFERENCES[character] ?? '')
}

/** Builds markup and escapes all values, so that untrusted text cannot add tags. */
export function html(parts: TemplateStringsArray, ...values: readonly unknown[]): Markup {
  return new Markup(String.raw({ raw: parts }, ...values.map(escaped)))
}

/**
 * Builds a tag's attributes: `true` produces an attribute without a value; `false`, `null` and `undefined` are left
 * out.
 */
export function attributes(named: Readonly<Record<string, unknown>>): Markup {
  const present = Object.entries(named).filter(([, value]) => value !== false && value !== null && value !== undefined)
  return new Markup(
    present.map(([name, value]) => (value === true ? ` ${name}` : ` ${name}="${escaped(value)}"`)).join(''),
  )
}
