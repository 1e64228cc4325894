import type { Cell, Option, TableRow } from '../../runtime/forms/form-definition.ts'

/**
 * The current state of a client's form: the properties that scripts changed, by element. For other properties, the form
 * definition applies. `elements` is a Map, so that no name can refer to an inherited property.
 */
export interface FormView {
  /** A literal text, or `i18n:` followed by the key of a text. */
  readonly title?: string
  /** Whether the form has unsaved input. The form definition's `saves` names the button that saves it. */
  readonly unsaved?: boolean
  readonly elements: ReadonlyMap<string, ElementState>
}

/** Texts are shown literally unless they start with `i18n:`. Values and cells are always literal. */
export interface ElementState {
  /** The value of an input, or the name of the open tab. */
  readonly value?: Cell
  readonly visible?: boolean
  readonly enabled?: boolean
  readonly label?: string
  readonly required?: boolean
  readonly hint?: string
  readonly placeholder?: string
  /** Why the value is invalid; empty or null if it is valid. */
  readonly error?: string | null
  readonly options?: readonly Option[]
  readonly href?: string
  /** For images: the path below `media/`. */
  readonly src?: string
  readonly alt?: string
  /** For tables: all rows, though only one page of them is shown. */
  readonly rows?: readonly TableRow[]
  /** Ids of the selected rows, including rows on other pages. */
  readonly selected?: readonly RowId[]
  readonly sort?: Sort | null
  /** Starts at 1. If the number is too high, the last page is shown. */
  readonly page?: number
}

export type RowId = string | number
export type Sort = { readonly column: string; readonly direction: 'ascending' | 'descending' }
