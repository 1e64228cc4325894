import type { Outcome } from '../../runtime/outcome.ts'

/** How a call of a solution's script ended. */
export type CallEnd = {
  readonly solution: string
  /** The entry function, such as `onSolutionOpen`; of a form's event `forms.{form}.{element}.{type}`. */
  readonly entry: string
  readonly outcome: { readonly code: Outcome['code']; readonly milliseconds: number }
}
