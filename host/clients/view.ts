import type { Cell, Option, TableRow } from '../../runtime/forms/form-definition.ts'

/**
 * The current state of a client's form: what scripts changed, by element. Absent properties have the value of the form
 * definition. Maps, so that no name can reach a prototype.
 */
export interface FormView {
  /** A text, or `i18n:` followed by a key. */
  readonly title?: string
  readonly elements: ReadonlyMap<string, ElementState>
}

/** Texts are shown literally unless they start with `i18n:`; values and cells are always literal. */
export interface ElementState {
  /** For inputs the value, for tabs the name of the open tab. */
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
  /** For tables: all rows. One page of them is shown. */
  readonly rows?: readonly TableRow[]
  /** Ids of the selected rows, including rows on other pages. */
  readonly selected?: readonly RowId[]
  readonly sort?: Sort | null
  /** Starts at 1. A page beyond the last one shows the last one. */
  readonly page?: number
}

export type RowId = string | number
export type Sort = { readonly column: string; readonly direction: 'ascending' | 'descending' }

export const EMPTY_VIEW: FormView = { elements: new Map() }
