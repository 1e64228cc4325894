/** A table row: its cells by column name. */
interface FormRow {
  /** The row's id, unique in the table. */
  readonly id: string | number
  /** A cell. null or absent if it is empty. */
  readonly [column: string]: string | number | boolean | null | undefined
}

/** An option of a select or radio. */
interface FormOption {
  /** The option's value, unique among the options. 1 and "1" are the same. */
  readonly value: string | number
  /** Literal text, or "i18n:" followed by a key. */
  readonly label: string
}

/**
 * The properties of an element that a script can read and set. They depend on the element's type. A new value is
 * checked immediately.
 * @throws TypeError for a property that the element does not have, and for a value that the property does not accept
 */
interface FormElement {
  /** Whether the element is shown. */
  visible: boolean
  /** Whether the user can use the element. */
  enabled: boolean
  /**
   * A literal text, or "i18n:" followed by a key. The same applies to hint, placeholder, error, alt and the labels of
   * options.
   */
  label: string
  /** A line of help text below the element. */
  hint: string
  /**
   * Inputs: a string; a number or null; a date in the format YYYY-MM-DD or null; true or false; the value of an option
   * or null. Tabs: the name of the open tab.
   */
  value: any
  /** Inputs: whether a value is required. While it is missing, primary buttons do nothing. */
  required: boolean
  /** Inputs: the message that says why the value is rejected; "" if the value is accepted. */
  error: string
  /** Text and number inputs, select: text shown while there is no value. */
  placeholder: string
  /** Select and radio: the options. If the value is no longer one of them, it becomes null. */
  options: readonly FormOption[]
  /** Links with an `href`: the URL. */
  href: string
  /** Images: the image's path in the media folder. */
  src: string
  /** Images: the alternative text. */
  alt: string
  /** Tables: all rows. The list is frozen; set a new one to change the rows. */
  rows: readonly FormRow[]
  /** Tables: the ids of the selected rows. */
  selected: readonly (string | number)[]
  /** Tables: how the rows are sorted. If null, they are in the order of `rows`. */
  sort: { readonly column: string; readonly direction: 'ascending' | 'descending' } | null
  /** Tables: the current page, starting at 1. */
  page: number
}

/** A form. It also has the functions that its script declares at its top level. */
interface Form {
  /** The form's elements by name. @throws TypeError for an element that the form does not have */
  readonly elements: { readonly [name: string]: FormElement }
  /** Literal text, or "i18n:" followed by a key. */
  title: string
  /**
   * Only for forms with `saves`: whether the user has changed an input since the last save. Set it to false if the
   * script has saved or discarded the input.
   */
  unsaved: boolean
  /** The name of the form, for `application.showForm`. */
  getName(): string
  /** A function that the form's script declares. */
  readonly [name: string]: any
}

/** The solution's forms by name. Only in clients, not during a sign-in. @throws TypeError if the form does not exist */
declare const forms: { readonly [name: string]: Form }
