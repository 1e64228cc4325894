import type { Pipeline } from './pipelines.ts'
import type { Run } from './run-rows.ts'

/** A run that this control center performs. */
export type RunTask = {
  readonly pipeline: Pipeline
  readonly run: Run
  readonly signal: AbortSignal
  /** Writes a line to the current step's log. */
  readonly say: (text: string) => void
}
