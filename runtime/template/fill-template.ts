import { isAllowedAddress } from './address.ts'
import type { CompiledTemplate, KeptSelect, Lookup, Part, Piece } from './compiled-template.ts'
import { escapeScript, escapeValue } from './escape.ts'

/**
 * Maximum total characters. Chosen here: without it, many placeholders with one long value would produce a page that
 * fills the host's memory.
 */
export const MAX_VALUES = 2_000_000

/** The values with which the template is filled for one request. */
export type TemplateValues = {
  /** The nonce from the page's Content-Security-Policy, for the template's own scripts and styles. */
  readonly nonce: string
  /** The value of the hidden input `csrf_token` of the login form. */
  readonly formToken: string
  /** A script from the host, inserted unchanged at the end of `head`. */
  readonly script?: string
  /** The passkey options as JSON, which `script` reads from its own element. */
  readonly passkey?: string | null
  /** Whether to show the error label. */
  readonly failed: boolean
  /** Whether to show the `forgotten` link, written as `<a id="forgotten" hidden>` in templates. */
  readonly forgotten?: boolean
  /** Looks up a key in the i18n table; if this returns null, `!key!` is shown. */
  readonly message: (key: string) => string | null
  /**
   * The value of a key in the JSON that `onSolutionOpen` returned. Anything except strings, numbers and booleans is
   * empty.
   */
  readonly value: (name: string) => unknown
  /** Values of `username` and `custom_*` that the form preserves. */
  readonly fields: ReadonlyMap<string, string>
  /** A short message from the host, shown at the error label. */
  readonly notice?: string
  /** A muted line after the message, such as "Reference: K7Q2M-9XD4A". */
  readonly reference?: string
}

/**
 * Returns the page for one request. The time it needs is proportional to the size of the page and its values. Values
 * beyond two million characters in total are left empty.
 */
export function fillTemplate(template: CompiledTemplate, values: TemplateValues): string {
  const look = createLook(values)
  const chosen = template.selects.map((select) => chosenOption(select, values.fields, look))
  const page: string[] = []
  for (const part of template.parts) page.push(typeof part === 'string' ? part : fillPart(part, values, look, chosen))
  return page.join('')
}

type Look = {
  /** Values are not searched for placeholders: a placeholder in a value is shown as text. */
  readonly up: (lookup: Lookup) => string
  /** Returns a field's preserved value; undefined if there is none. */
  readonly kept: (field: string) => string | undefined
}

function createLook(values: TemplateValues): Look {
  const message = (key: string) => values.message(key) ?? `!${key}!`
  let left = MAX_VALUES
  function spend(text: string): string {
    if (text.length > left) return ''
    left -= text.length
    return text
  }
  return {
    up: ({ from, name }) => spend(from === 'i18n' ? message(name) : valueText(values.value(name), message)),
    kept: (field) => {
      const text = values.fields.get(field)
      return text === undefined ? undefined : spend(text)
    },
  }
}

function valueText(value: unknown, message: (key: string) => string): string {
  if (typeof value === 'string') return value.startsWith('i18n:') ? message(value.slice('i18n:'.length)) : value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

function fillPart(
  part: Exclude<Part, string>,
  values: TemplateValues,
  look: Look,
  chosen: readonly (number | null)[],
): string {
  switch (part.at) {
    case 'text':
      return escapeValue(look.up(part.lookup))
    case 'script':
      return escapeScript(look.up(part.lookup))
    case 'address':
      return fillAddress(part.pieces, part.ownOrigin, look)
    case 'nonce':
      return escapeValue(values.nonce)
    case 'token':
      return `<input type="hidden" name="csrf_token" value="${escapeValue(values.formToken)}">`
    case 'failed':
      return fillHead(values)
    case 'notice':
      return fillNotice(values)
    case 'keptValue': {
      const text = look.kept(part.field) ?? (part.otherwise && joinPieces(part.otherwise, look))
      return text === null ? '' : ` value="${escapeValue(text)}"`
    }
    case 'keptText':
      return escapeValue(look.kept(part.field) ?? joinPieces(part.otherwise, look))
    case 'checked': {
      const kept = values.fields.get(part.field)
      const checked = kept === undefined ? part.otherwise : joinPieces(part.value, look) === kept
      return checked ? ' checked=""' : ''
    }
    case 'selected': {
      const option = chosen[part.select] ?? null
      return (option === null ? part.otherwise : option === part.option) ? ' selected=""' : ''
    }
  }
}

function fillHead({ failed, forgotten = false, nonce, script, passkey = null }: TemplateValues): string {
  const attribute = `nonce="${escapeValue(nonce)}"`
  const options = passkey === null ? '' : ` data-passkey="${escapeValue(passkey)}"`
  const rules = `${failed ? '#errorlabel{display:block!important}' : ''}${forgotten ? 'a#forgotten{display:inline-block!important}' : ''}`
  const shown = rules === '' ? '' : `<style ${attribute}>${rules}</style>`
  return script === undefined ? shown : `${shown}<script ${attribute}${options}>${script}</script>`
}

function fillAddress(pieces: readonly Piece[], ownOrigin: boolean, look: Look): string {
  const first = pieces[0]
  const address = joinPieces(pieces, look)
  return isAllowedAddress(address, typeof first === 'string' ? first : '', ownOrigin) ? escapeValue(address) : ''
}

function fillNotice({ notice, reference }: TemplateValues): string {
  const shown = notice === undefined ? '' : `<p class="platform-notice" role="status">${escapeValue(notice)}</p>`
  return reference === undefined ? shown : `${shown}<p class="platform-reference">${escapeValue(reference)}</p>`
}

/** @returns null if the author's own selection applies, because no value is preserved or no option has it */
function chosenOption(select: KeptSelect, fields: ReadonlyMap<string, string>, look: Look): number | null {
  const kept = fields.get(select.field)
  if (kept === undefined) return null
  const index = select.options.findIndex(({ pieces, collapse }) => {
    const value = joinPieces(pieces, look)
    return (collapse ? collapseSpaces(value) : value) === kept
  })
  return index < 0 ? null : index
}

/** The value of an option that has no value attribute. @see HTML, "The option element" */
function collapseSpaces(text: string): string {
  return text.replace(/[\t\n\f\r ]+/g, ' ').replace(/^ | $/g, '')
}

/** NUL and lone surrogates are already replaced here, so that the URL is checked as the browser will see it. */
function joinPieces(pieces: readonly Piece[], look: Look): string {
  let text = ''
  for (const piece of pieces) text += typeof piece === 'string' ? piece : look.up(piece)
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
