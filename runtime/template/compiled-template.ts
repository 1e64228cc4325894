/** The text that the warning `template_replaced` starts with. */
export const REPLACED = 'the default login page is shown instead of this page: '

/**
 * Maximum number of values that a template can contain. Chosen here: a real login page has a few hundred parts, and
 * each part may require a lookup in every request.
 */
export const MAX_PARTS = 10_000

/**
 * Maximum number of characters in a template. Chosen here: 256 kB of source produces at most this much output, since
 * `&` becomes `&amp;` and formatting elements are repeated.
 */
export const MAX_TEXT = 8_000_000

/**
 * A placeholder: `%%i18n:<name>%%` refers to the i18n table, `%%<name>%%` to the JSON that `onSolutionOpen` returned.
 */
export type Lookup = { readonly from: 'i18n' | 'json'; readonly name: string }

/** Text as a user sees it, before any escaping. */
export type Piece = string | Lookup

/** The value of one option. `collapse`: the value is the option's text, so its white space is collapsed. */
export type OptionValue = { readonly pieces: readonly Piece[]; readonly collapse: boolean }

/** A select whose selection is preserved; `selected` parts refer to its options by index. */
export type KeptSelect = { readonly field: string; readonly options: readonly OptionValue[] }

/**
 * One part of the page. A string is sent unchanged. The host replaces the others:
 *
 * - `text`: the value with character references, in text, a quoted attribute, a title or a textarea.
 * - `script`: the value as `\uXXXX`, in a string literal of a script.
 * - `address`: a whole attribute value, checked as one URL. `ownOrigin`: values must not point to another origin.
 * - `nonce`, `token`, `failed`, `notice`: content from the host.
 * - `keptValue`: the whole ` value="…"`. `otherwise` is null if the author wrote no value.
 * - `keptText`: the content of a textarea.
 * - `checked`: ` checked=""` if the preserved value equals `value`. If no value is preserved, the author's choice
 *   (`otherwise`) is used.
 * - `selected`: like `checked`, but ` selected=""`, for an option of one of the template's `selects`.
 */
export type Part =
  | string
  | { readonly at: 'text' | 'script'; readonly lookup: Lookup }
  | { readonly at: 'address'; readonly pieces: readonly Piece[]; readonly ownOrigin: boolean }
  | { readonly at: 'nonce' | 'token' | 'failed' | 'notice' }
  | { readonly at: 'keptValue'; readonly field: string; readonly otherwise: readonly Piece[] | null }
  | { readonly at: 'keptText'; readonly field: string; readonly otherwise: readonly Piece[] }
  | { readonly at: 'checked'; readonly field: string; readonly value: readonly Piece[]; readonly otherwise: boolean }
  | { readonly at: 'selected'; readonly select: number; readonly option: number; readonly otherwise: boolean }

/** A login template ready to be filled in: plain JSON that needs no further parsing. */
export type CompiledTemplate = { readonly parts: readonly Part[]; readonly selects: readonly KeptSelect[] }

/** Counts values and characters in the whole template, since limits per list would not limit the total. */
export function isWithinBounds(template: CompiledTemplate): boolean {
  let lookups = 0
  let characters = 0
  const count = (pieces: readonly Piece[]) => {
    for (const piece of pieces) {
      if (typeof piece === 'string') characters += piece.length
      else lookups++
    }
  }
  for (const part of template.parts) {
    if (typeof part === 'string') characters += part.length
    else lookups++
    if (typeof part === 'object') count(partPieces(part))
  }
  for (const select of template.selects) for (const option of select.options) count(option.pieces)
  return lookups <= MAX_PARTS && characters <= MAX_TEXT
}

function partPieces(part: Exclude<Part, string>): readonly Piece[] {
  if (part.at === 'address') return part.pieces
  if (part.at === 'keptValue' || part.at === 'keptText') return part.otherwise ?? []
  return part.at === 'checked' ? part.value : []
}
