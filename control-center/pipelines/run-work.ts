import type { Logger } from 'pino'
import { PlatformError } from '../../runtime/errors.ts'
import type { Pipeline } from './pipelines.ts'
import type { RunLog } from './run-log.ts'
import type { Run } from './run-rows.ts'
import { isOpen, RUN_STEPS, type RunState, type RunStep, type StepState } from './run-states.ts'
import type { StepWork } from './run-steps.ts'

export type RunAtWork = {
  readonly run: Run
  readonly pipeline: Pipeline
  readonly log: RunLog
  readonly states: Map<RunStep, StepState>
  /** Its abort reason is the run's final state. */
  readonly signal: AbortSignal
}

export type RunWorkParts = {
  readonly work: StepWork
  readonly log: Pick<Logger, 'error'>
  /** Resolves when the run may begin, or when it is aborted while queued. */
  readonly waitForTurn: (at: RunAtWork) => Promise<void>
  /** Called when a step begins or has ended. */
  readonly onStep: (at: RunAtWork) => Promise<void>
}

/**
 * Performs the steps of a run in order.
 * @returns the run's final state, once all steps have their final states too
 */
export async function performRun(at: RunAtWork, { work, log, waitForTurn, onStep }: RunWorkParts): Promise<RunState> {
  const { signal, states, log: runLog, pipeline, run } = at
  let now: RunStep = 'check'
  let end: RunState
  const task = work({ pipeline, run, signal, say: (text) => runLog.say(now, text) })
  try {
    await waitForTurn(at)
    for (const step of RUN_STEPS) {
      signal.throwIfAborted()
      now = step
      if (!task.isSetUp(step)) {
        states.set(step, 'not-set-up')
        continue
      }
      states.set(step, 'running')
      await onStep(at)
      await task.perform(step)
      states.set(step, 'done')
      await onStep(at)
    }
    end = 'done'
  } catch (error) {
    end = signal.aborted ? (signal.reason as RunState) : 'failed'
    states.set(now, end === 'failed' ? 'failed' : 'skipped')
    runLog.say(now, end === 'failed' ? whyNot(error, run, log) : `The run was ${end}.`)
  } finally {
    await task.tidyUp()
  }
  for (const step of RUN_STEPS) if (isOpen(states.get(step) ?? 'waiting')) states.set(step, 'skipped')
  await runLog.flush()
  return end
}

/** Unexpected errors are for the operator only, so their details appear only in the control center's own log. */
function whyNot(error: unknown, { id }: Run, log: Pick<Logger, 'error'>): string {
  if (error instanceof PlatformError) return error.message
  log.error({ run: id, stack: error instanceof Error ? error.stack : String(error) }, 'a pipeline run failed')
  return 'This step failed because of an internal error. Ask the operator of the control center to check its log for the reason.'
}
