import { z } from '../../runtime/zod.ts'

/** The steps of a run, in order. */
export const RUN_STEPS = ['check', 'stamp', 'context', 'image', 'push'] as const
export type RunStep = (typeof RUN_STEPS)[number]

/**
 * `not-set-up`: the control center has no builder. `skipped`: an earlier step failed, or the run was cancelled or
 * interrupted.
 */
export const STEP_STATES = ['waiting', 'running', 'done', 'failed', 'skipped', 'not-set-up'] as const
export type StepState = (typeof STEP_STATES)[number]

/** Whether a step has not ended yet. */
export function isOpen(state: StepState): boolean {
  return state === 'waiting' || state === 'running'
}

/** `interrupted`: the control center stopped during the run. */
export const RUN_STATES = ['running', 'done', 'failed', 'cancelled', 'interrupted'] as const
export type RunState = (typeof RUN_STATES)[number]

export const Step = z.object({ name: z.enum(RUN_STEPS), state: z.enum(STEP_STATES) })
export type Step = z.infer<typeof Step>

export function stepsOf(states: ReadonlyMap<RunStep, StepState>): Step[] {
  return RUN_STEPS.map((name) => ({ name, state: states.get(name) ?? 'waiting' }))
}

/** Parses the `steps` column. */
export function readSteps(text: string): readonly Step[] {
  return z.array(Step).parse(JSON.parse(text))
}

/** A line of a run's log. `number` is its position in the log, starting at 1; `time` is in epoch ms. */
export type RunLine = { readonly number: number; readonly time: number; readonly step: RunStep; readonly text: string }
