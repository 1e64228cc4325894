import { z } from '../../runtime/zod.ts'

/** The steps of a run, in their order. */
export const RUN_STEPS = ['check', 'stamp', 'context', 'image', 'push'] as const
export type RunStep = (typeof RUN_STEPS)[number]

/** `not-set-up`: the control center has no builder. `skipped`: an earlier step failed, or the run was ended. */
export const STEP_STATES = ['waiting', 'running', 'done', 'failed', 'skipped', 'not-set-up'] as const
export type StepState = (typeof STEP_STATES)[number]

/** Whether a step may still be done. */
export function isOpen(state: StepState): boolean {
  return state === 'waiting' || state === 'running'
}

/** `interrupted`: the control center stopped meanwhile. */
export const RUN_STATES = ['running', 'done', 'failed', 'cancelled', 'interrupted'] as const
export type RunState = (typeof RUN_STATES)[number]

export const Step = z.object({ name: z.enum(RUN_STEPS), state: z.enum(STEP_STATES) })
export type Step = z.infer<typeof Step>

export function stepsOf(states: ReadonlyMap<RunStep, StepState>): Step[] {
  return RUN_STEPS.map((name) => ({ name, state: states.get(name) ?? 'waiting' }))
}

/** Reads what the database holds. */
export function readSteps(text: string): readonly Step[] {
  return z.array(Step).parse(JSON.parse(text))
}

/** One line of a run's log. `number` counts in the run from 1; `time` is epoch ms. */
export type RunLine = { readonly number: number; readonly time: number; readonly step: RunStep; readonly text: string }
