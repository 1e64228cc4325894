/** Cells by the names of the columns. */
interface FormRow {
  /** Unique among the rows of the table. */
  readonly id: string | number
  /** A cell; null or absent where there is nothing. */
  readonly [column: string]: string | number | boolean | null | undefined
}

/** One of the options of a select or radio. */
interface FormOption {
  /** Unique among the options; 1 and "1" are the same. */
  readonly value: string | number
  /** A text, or "i18n:" and a key. */
  readonly label: string
}

/**
 * What a script can read and set of an element; which of them it has depends on its type. What is set is checked at once.
 * @throws TypeError for a property that the element does not have, and for what the property does not take
 */
interface FormElement {
  /** Whether it is shown. */
  visible: boolean
  /** Whether the user can use it. */
  enabled: boolean
  /** A text, or "i18n:" and a key, as are hint, placeholder, error, alt and the labels of options. */
  label: string
  /** A line of help. */
  hint: string
  /** Of inputs: a text; a number or null; a date written YYYY-MM-DD or null; true or false; that of an option or null. Of tabs the name of the open one. */
  value: any
  /** Of inputs: a primary button waits until there is a value. */
  required: boolean
  /** Of inputs: why the value is refused; "" if it is not. */
  error: string
  /** Of inputs for text and numbers and of select. */
  placeholder: string
  /** Of select and radio; a value that is no option any more becomes null. */
  options: readonly FormOption[]
  /** Of a link that has an address. */
  href: string
  /** Of an image: the path below media/. */
  src: string
  /** Of an image: what it shows, in words. */
  alt: string
  /** Of a table: all rows. What is read is frozen; set a new list to change them. */
  rows: readonly FormRow[]
  /** Of a table: the ids of the selected rows. */
  selected: readonly (string | number)[]
  /** Of a table: how its rows are shown; null: as they are. */
  sort: { readonly column: string; readonly direction: 'ascending' | 'descending' } | null
  /** Of a table: the page that is shown, from 1. */
  page: number
}

/** A form: beside these it has the functions that its script declares at its top level. */
interface Form {
  /** By name. @throws TypeError for an element that the form does not have */
  readonly elements: { readonly [name: string]: FormElement }
  /** A text, or "i18n:" and a key. */
  title: string
  /** The name of the form, as `application.showForm` takes it. */
  getName(): string
  /** A function that the form's script declares. */
  readonly [name: string]: any
}

/** The forms of the solution, by name; only in clients, not in logins. @throws TypeError for one that is not there */
declare const forms: { readonly [name: string]: Form }
