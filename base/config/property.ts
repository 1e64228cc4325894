/** An environment variable: its parser, its allowed values, and its purpose. */
export type Property<Value = unknown> = {
  readonly default: string
  /** Parses the text. @returns undefined if it is not allowed */
  readonly read: (text: string) => Value | undefined
  /** Describes the allowed values, for error messages and the docs. */
  readonly form: string
  readonly what: string
  /** Whether the value is a secret: it is never printed, and can also be read from a file, set as `NAME_FILE`. */
  readonly secret?: true
}

/** A table of properties by name, with the types of their values. */
export type PropertyTable<Values> = { readonly [Name in keyof Values]: Property<Values[Name]> }

/** The values of a table's properties, by name. */
export type ValuesOf<Table extends Readonly<Record<string, Property>>> = {
  readonly [Name in keyof Table]: Exclude<ReturnType<Table[Name]['read']>, undefined>
}
