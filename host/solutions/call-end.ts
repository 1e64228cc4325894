import type { Outcome } from '../../runtime/outcome.ts'

/** The result of a script call. */
export type CallEnd = {
  readonly solution: string
  /** The entry function's name, such as `onSolutionOpen`. For form events, it is `forms.{form}.{element}.{type}`. */
  readonly entry: string
  readonly outcome: { readonly code: Outcome['code']; readonly milliseconds: number }
}
