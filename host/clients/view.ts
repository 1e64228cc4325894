import type { Cell, Option, TableRow } from '../../runtime/forms/form-definition.ts'

/**
 * What a client's form shows now, as the host knows it: what the scripts changed, by element. What is absent is as the
 * form's definition says. Maps, so that no name can reach a prototype.
 */
export interface FormView {
  /** A text, or `i18n:` and a key. */
  readonly title?: string
  readonly elements: ReadonlyMap<string, ElementState>
}

/** Texts are shown as they are, but for those that start with `i18n:`; values and cells always as they are. */
export interface ElementState {
  /** Of an input its value, of tabs the name of the open tab. */
  readonly value?: Cell
  readonly visible?: boolean
  readonly enabled?: boolean
  readonly label?: string
  readonly required?: boolean
  readonly hint?: string
  readonly placeholder?: string
  /** Why the value is refused; empty or null: it is not. */
  readonly error?: string | null
  readonly options?: readonly Option[]
  readonly href?: string
  /** Of an image: the path below `media/`. */
  readonly src?: string
  readonly alt?: string
  /** Of a table: all rows, of which one page is shown. */
  readonly rows?: readonly TableRow[]
  /** Ids of the selected rows, also of those on other pages. */
  readonly selected?: readonly RowId[]
  readonly sort?: Sort | null
  /** From 1. One that the rows do not reach means the last. */
  readonly page?: number
}

export type RowId = string | number
export type Sort = { readonly column: string; readonly direction: 'ascending' | 'descending' }

export const EMPTY_VIEW: FormView = { elements: new Map() }
