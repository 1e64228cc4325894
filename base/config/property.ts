/** One environment property: how its text is read, what is allowed, and what it is for. */
export type Property<Value = unknown> = {
  readonly default: string
  /** Reads the text. @returns undefined when it is not allowed */
  readonly read: (text: string) => Value | undefined
  /** What is allowed, for the error line and the docs. */
  readonly form: string
  readonly what: string
  /** Never printed, and may come as `NAME_FILE`. */
  readonly secret?: true
}

/** A table of properties, by name, whose values have these types. */
export type PropertyTable<Values> = { readonly [Name in keyof Values]: Property<Values[Name]> }

/** What the properties of a table are read as, by name. */
export type ValuesOf<Table extends Readonly<Record<string, Property>>> = {
  readonly [Name in keyof Table]: Exclude<ReturnType<Table[Name]['read']>, undefined>
}
