import type { Lookup } from './compiled-template.ts'
import { type FoundPlaceholder, findPlaceholders } from './placeholders.ts'
import { findJsonStrings, findStrings, type StringText } from './script-strings.ts'

/** How a browser treats a script element's text: as code, as JSON, or as data of an unknown kind. */
export type ScriptKind = 'classic' | 'module' | 'json' | 'data'

/** A script's text with the lookups inside string literals. All other lookups are removed and listed in `emptied`. */
export type ScriptText = {
  readonly pieces: readonly (string | Lookup)[]
  readonly emptied: readonly FoundPlaceholder[]
}

const JAVASCRIPT =
  /^(?:(?:application|text)\/(?:x-)?(?:java|ecma)script|text\/(?:javascript1\.[0-5]|jscript|livescript))$/

/** `type` and `language` are the element's attributes, or null. @see HTML, "prepare the script element" */
export function scriptKind(type: string | null, language: string | null): ScriptKind {
  const written = type ?? (language ? `text/${language}` : '')
  const name = written.trim().toLowerCase()
  if (name === 'module') return 'module'
  if (name === 'application/json') return 'json'
  return written === '' || JAVASCRIPT.test(name) ? 'classic' : 'data'
}

/** Splits a script into its text and the lookups that may be filled in as `\uXXXX`. */
export function readScript(text: string, kind: ScriptKind): ScriptText {
  const placeholders = findPlaceholders(text)
  if (placeholders.length === 0) return { pieces: [text], emptied: [] }
  const output = new ScriptOutput(text, kind)
  const strings = kind === 'data' ? [] : kind === 'json' ? findJsonStrings(text) : findStrings(text, kind === 'module')
  let next = 0
  for (const string of strings) {
    while ((placeholders[next]?.start ?? Infinity) < string.start)
      output.empty(placeholders[next++] as FoundPlaceholder)
    const inside: FoundPlaceholder[] = []
    while ((placeholders[next]?.start ?? Infinity) < string.end) inside.push(placeholders[next++] as FoundPlaceholder)
    if (inside.length > 0) output.string(string, inside)
  }
  while (next < placeholders.length) output.empty(placeholders[next++] as FoundPlaceholder)
  return output.finish()
}

class ScriptOutput {
  private readonly text: string
  private readonly kind: ScriptKind
  private readonly pieces: (string | Lookup)[] = []
  private readonly emptied: FoundPlaceholder[] = []
  private done = 0

  constructor(text: string, kind: ScriptKind) {
    this.text = text
    this.kind = kind
  }

  /** Removes a placeholder from code. A space replaces it if its neighbours would become one token. */
  empty(placeholder: FoundPlaceholder): void {
    this.pieces.push(this.text.slice(this.done, placeholder.start))
    const joins =
      /[/*<!\-$\\]/.test(this.text[placeholder.start - 1] ?? '') &&
      /[/*!\->{'"`]/.test(this.text[placeholder.end] ?? '')
    if (joins && this.kind !== 'data') this.pieces.push(' ')
    this.emptied.push(placeholder)
    this.done = placeholder.end
  }

  /** Writes a whole string literal. Browsers parse all of it as the author wrote it, except the values. */
  string(string: StringText, placeholders: readonly FoundPlaceholder[]): void {
    this.pieces.push(this.text.slice(this.done, string.start))
    this.done = string.start
    for (const placeholder of placeholders) {
      const literal = protect(this.text.slice(this.done, placeholder.start), string.kind)
      this.pieces.push(literal.text)
      if (literal.splitsEscape) this.emptied.push(placeholder)
      else this.pieces.push(placeholder.lookup)
      this.done = placeholder.end
    }
    this.pieces.push(protect(this.text.slice(this.done, string.end), string.kind).text)
    this.done = string.end
  }

  finish(): ScriptText {
    this.pieces.push(this.text.slice(this.done))
    return { pieces: this.pieces.filter((piece) => piece !== ''), emptied: this.emptied }
  }
}

/**
 * Matches an escape sequence (complete, or cut off by a placeholder), or a character that has a meaning outside the
 * string.
 */
const TOKEN = /\\(?:u\{[0-9a-f]*\}?|u[0-9a-f]{0,4}|x[0-9a-f]{0,2}|[0-7]{1,3}|[\s\S]|$)|[<>$]/gi

/**
 * Escapes the author's text around values in a string literal.
 *
 * - `<` and `>` are escaped, so that no value can complete `</script>` or `<!--`.
 * - A `$` at the end is escaped, since it could form `${` with the text after an empty value.
 * - A lone backslash before a value is dropped, since it would escape the value.
 *
 * `splitsEscape`: the text ends within an escape sequence such as `\u00`, which a value would continue.
 */
function protect(literal: string, kind: StringText['kind']): { text: string; splitsEscape: boolean } {
  let splitsEscape = false
  const text = literal.replace(TOKEN, (token: string, offset: number) => {
    const last = offset + token.length === literal.length
    if (token === '<' || token === '\\<') return '\\u003c'
    if (token === '>' || token === '\\>') return '\\u003e'
    if (token === '$') return last && kind === 'template' ? '\\u0024' : '$'
    if (token === '\\') return ''
    if (last && /^\\(?:u\{[0-9a-f]*|u[0-9a-f]{0,3}|x[0-9a-f]?|[0-7]{1,2})$/i.test(token)) splitsEscape = true
    return token
  })
  return { text, splitsEscape }
}
