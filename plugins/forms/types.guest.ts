import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

export type Settings = { readonly names: readonly string[]; readonly properties: Record<string, readonly string[]> }
export type Run = (...args: never[]) => unknown
export type Row = Record<string, string | number | boolean | null>
export type Option = { value: string | number; label: string }
export type Definition = {
  readonly title: string
  readonly handlers: Record<string, string>
  /** Of its elements. */
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
 * What scripts and the host read of something; without prototype. By property, the values that the host knows: `changed` of what
 * changed since it was told, `told` of what the last call told, which may have been in vain.
 */
export type Part = {
  readonly path: string
  readonly state: Record<string, unknown>
  changed: Record<string, unknown> | null
  told: Record<string, unknown> | null
}
export type Element = Part & { readonly definition: ElementDefinition }
export type Form = {
  readonly name: string
  /** Of the form itself: its title. */
  readonly own: Part
  readonly handlers: Record<string, string>
  readonly names: readonly string[]
  /** By name and in the order of their first use: until then an element costs a client nothing. */
  readonly elements: Record<string, Element>
  readonly made: Element[]
  /** `forms.<name>.elements`, once a script looked at it. */
  elementsView: object | null
  hasLoaded: boolean
}
export type Event = { readonly form: string; readonly element: string; readonly type: string; readonly value: unknown }
/** What a user put into an element, and what was in it before. */
export type Entered = {
  readonly form: Form
  readonly element: Element
  readonly before: unknown
  readonly after: unknown
}
/** What one command tells of a form. */
export type Update = { form: string; title?: unknown; elements: Record<string, Record<string, unknown>> }

/** The forms as their scripts see them: the one that is shown, and the one that a script wishes for. */
export type Showing = { current: string | null; wanted: string | null }

/** The guest API as the forms use it. State: the one form that can be shown while nobody is signed in; null: any. */
export type Api = GuestApi<Settings, string>
