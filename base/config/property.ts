/** One environment property: how its text is read, what is allowed, and what it is for. */
export type Property = {
  readonly default: string
  /** Reads the text. @returns undefined when it is not allowed */
  readonly read: (text: string) => unknown
  /** What is allowed, for the error line and the docs. */
  readonly form: string
  readonly what: string
  /** Never printed, and may come as `NAME_FILE`. */
  readonly secret?: true
}
