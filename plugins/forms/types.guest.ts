import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

export type Settings = {
  readonly names: readonly string[]
  readonly properties: Record<string, readonly string[]>
  /** The buttons that save, by form. */
  readonly saves: Record<string, string>
}
export type Run = (...args: never[]) => unknown
export type Row = Record<string, string | number | boolean | null>
export type Option = { value: string | number; label: string }
export type Definition = {
  readonly title: string
  readonly handlers: Record<string, string>
  /** The names of the form's elements. */
  readonly names: readonly string[]
}
export type ElementDefinition = {
  readonly type: string
  readonly name: string
  readonly handlers: Record<string, string>
  readonly maxLength: number
  readonly selection: string
  readonly columns: readonly { name: string; type: string }[]
  readonly tabs: readonly string[]
}
/**
 * State that scripts and the host read. The objects have no prototype.
 *
 * `changed` and `sent` contain previous values by property, as the host last applied them. `changed` is for changes
 * that have not been sent yet. `sent` is for changes that the last call sent, which the host may not have applied.
 */
export type Part = {
  readonly path: string
  readonly state: Record<string, unknown>
  changed: Record<string, unknown> | null
  sent: Record<string, unknown> | null
}
export type Element = Part & { readonly definition: ElementDefinition }
export type Form = {
  readonly name: string
  /** The form's own state: its title and, if a button saves it, whether it has unsaved input. */
  readonly own: Part
  /** The name of the button that saves the form; null if there is none. */
  readonly saves: string | null
  readonly handlers: Record<string, string>
  readonly names: readonly string[]
  /** The elements by name, created on first use: an unused element costs a client no memory. */
  readonly elements: Record<string, Element>
  readonly usedElements: Element[]
  /** `forms.<name>.elements`, created when a script first reads it. */
  elementsView: object | null
  hasLoaded: boolean
}
export type Event = {
  readonly form: string
  readonly element: string
  readonly type: string
  readonly value: unknown
  /** Set only if the user pressed the button that saves. True if an input still has a value that the host rejected. */
  readonly hasFaults?: boolean
  /** True if the user pressed a button, a link or a row, and an input of the form shows an invalid value. */
  readonly isInvalid?: boolean
}
/** The user's input in an element, and the previous value. */
export type Entered = {
  readonly form: Form
  readonly element: Element
  readonly before: unknown
  readonly after: unknown
  /** Whether the form already had unsaved input. */
  readonly wasUnsaved: boolean
}
/** The changes to a form in one command. */
export type Update = {
  form: string
  title?: unknown
  unsaved?: unknown
  elements: Record<string, Record<string, unknown>>
}

export type Showing = {
  /** The name of the form that is shown. */
  current: string | null
  /** The name of the form that a script has requested to show. */
  wanted: string | null
  /**
   * Whether this call handles a button press by the user. If so, the user must agree before unsaved input is discarded.
   */
  asks: boolean
  /** Whether the user has agreed to leave the form. */
  isAgreed: boolean
}

/**
 * The guest API, typed for forms. `state` is the only form that may be shown while no user is signed in. It is null if
 * any form may be shown.
 */
export type Api = GuestApi<Settings, string>
