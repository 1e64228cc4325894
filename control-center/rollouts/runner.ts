import type { Logger } from 'pino'
import { isRefusal } from '../../base/http/errors.ts'
import { repeat } from '../../base/work/repeat.ts'
import type { Audit } from '../access/audit.ts'
import type { Desired, DesiredContent, DesiredStates } from '../desired/desired.ts'
import type { Reports } from '../satellites/reports.ts'
import { CHANGED, judge, silence } from './judge.ts'
import type { Rollout, RolloutStep, Rollouts, StepChange, StepFailure, StepState } from './rollouts.ts'
import { versionBefore } from './version-before.ts'

/** Advances rollouts, and resumes them after a restart of the control center. */
export interface RolloutRunner {
  start(): void
  /** Checks all active rollouts immediately. Call this after something may have changed. */
  wake(): void
  stop(): Promise<void>
}

export type RunnerParts = {
  readonly rollouts: Rollouts
  readonly desiredStates: DesiredStates
  readonly reports: Pick<Reports, 'live'>
  readonly audit: Audit
  readonly log: Pick<Logger, 'error'>
}

/** Polling interval in ms. Polling notices timeouts, and reports that other processes received. */
const LOOK_EVERY = 1000

/** @param now returns the current time in epoch milliseconds */
export function createRolloutRunner(parts: RunnerParts, now: () => number = Date.now): RolloutRunner {
  const { rollouts, desiredStates, reports, audit, log } = parts
  const startedAt = now()
  let stopLooking = async () => {}
  let looking: Promise<void> | null = null
  let isAsked = false
  let isStopped = false

  async function lookAtAll(): Promise<void> {
    for (const rollout of await rollouts.active()) {
      // An error in one rollout must not stop the others.
      await takeForward(rollout).catch((error: Error) =>
        log.error({ rollout: rollout.id, stack: error.stack }, 'a rollout could not be continued'),
      )
    }
  }

  async function takeForward(rollout: Rollout): Promise<void> {
    if (rollout.state === 'rolling-back') return takeBack(rollout)
    for (const step of rollout.steps) if (step.state === 'running') await settle(rollout, step, 'done', 'failed')
    if (rollout.state === 'cancelled') return
    const steps = (await rollouts.need(rollout.organisation, rollout.id)).steps
    const waiting = steps.filter(({ state }) => state === 'waiting')
    const running = steps.filter(({ state }) => state === 'running')
    if (steps.some(({ state }) => state === 'failed')) {
      // Wait for the steps that are still running.
      return running.length === 0 ? end(rollout, 'halted') : undefined
    }
    // All of its environments were deleted.
    if (steps.length === 0) return end(rollout, 'cancelled')
    if (waiting.length === 0 && running.length === 0) return end(rollout, 'done')
    const next = rollout.pace === 'all' ? waiting : running.length === 0 ? waiting.slice(0, 1) : []
    for (const step of next) await begin(rollout, step)
  }

  /**
   * Store the step before changing the desired state. Then the previous version is known even if this process exits in
   * between.
   */
  async function begin(rollout: Rollout, step: RolloutStep): Promise<void> {
    const before = step.before ?? { desired: await versionBefore(parts, step.environment, rollout.package) }
    const change = { state: 'running', before, number: null, startedAt: now(), endedAt: null, failure: null } as const
    if (await rollouts.changeStep(rollout.id, step.position, ['waiting'], change)) await ask(rollout, step)
  }

  async function ask(rollout: Rollout, step: RolloutStep): Promise<void> {
    const change = await requestVersion(parts, rollout, step, now)
    await rollouts.changeStep(rollout.id, step.position, ['running'], change)
  }

  async function takeBack(rollout: Rollout): Promise<void> {
    for (const step of rollout.steps) {
      if (isToUndo(step)) await undo(rollout, step)
      else if (step.state === 'undoing') await settle(rollout, step, 'undone', 'not-undone')
      else if (step.state === 'waiting')
        await rollouts.changeStep(rollout.id, step.position, ['waiting'], { state: 'left' })
    }
    const { steps } = await rollouts.need(rollout.organisation, rollout.id)
    if (!steps.some((step) => isToUndo(step) || step.state === 'undoing')) await end(rollout, 'rolled-back')
  }

  async function undo(rollout: Rollout, step: RolloutStep): Promise<void> {
    const change = { state: 'undoing', number: null, startedAt: now(), endedAt: null, failure: null } as const
    if (await rollouts.changeStep(rollout.id, step.position, [step.state], change)) await giveBack(rollout, step)
  }

  /** Does nothing if a different version was requested in the meantime. */
  async function giveBack(rollout: Rollout, { position, environment, before }: RolloutStep): Promise<void> {
    const had = before?.desired ?? null
    let isOthers = false
    const { number } = await desiredStates.change(
      environment,
      (last) => {
        const now = last.solutions[rollout.package]?.sha256
        isOthers = now !== rollout.sha256 && now !== had?.sha256
        return isOthers ? null : withVersion(last, rollout.package, had)
      },
      true,
    )
    const change = isOthers ? { state: 'not-undone' as const, endedAt: now(), failure: CHANGED } : { number }
    await rollouts.changeStep(rollout.id, position, ['undoing'], change)
  }

  /** Ends a step if its environment's nodes have reported a result, or if it has timed out. */
  async function settle(rollout: Rollout, step: RolloutStep, done: StepState, failed: StepState): Promise<void> {
    const { number, environment } = step
    const isBack = done === 'undone'
    // The step has no sequence number if the process exited while the step was beginning.
    if (number === null) return isBack ? giveBack(rollout, step) : ask(rollout, step)
    const nodes = await reports.live(environment)
    const since = step.startedAt ?? 0
    const sha256 = isBack ? (step.before?.desired?.sha256 ?? null) : rollout.sha256
    const verdict = judge({ solution: rollout.package, sha256, number, since }, nodes)
    // Satellites can't report while the control center is down, so its downtime doesn't count towards the timeout.
    const isLate = now() > Math.max(since, startedAt) + rollout.patience
    const failure: StepFailure | null = verdict === 'done' ? null : (verdict ?? (isLate ? silence(nodes) : null))
    if (verdict === null && failure === null) return
    const state = failure === null ? done : failed
    await rollouts.changeStep(rollout.id, step.position, [step.state], { state, failure, endedAt: now() })
  }

  async function end(rollout: Rollout, state: 'done' | 'halted' | 'cancelled' | 'rolled-back'): Promise<void> {
    const from = state === 'rolled-back' ? (['rolling-back'] as const) : (['running'] as const)
    if (!(await rollouts.move(rollout.id, from, state))) return
    const { organisation, package: name, version, id } = rollout
    const act = { organisation, actor: 'center', action: `rollout-${state}`, target: `${name} ${version}` }
    await audit.record({ ...act, outcome: 'ok', address: '', correlationId: id })
  }

  function look(): void {
    if (isStopped) return
    if (looking !== null) {
      isAsked = true
      return
    }
    isAsked = false
    looking = lookAtAll()
      .catch((error: Error) => log.error({ stack: error.stack }, 'the rollouts could not be read'))
      .finally(() => {
        looking = null
        if (isAsked) look()
      })
  }

  return {
    start() {
      stopLooking = repeat(LOOK_EVERY, look)
      look()
    },
    wake: look,
    async stop() {
      isStopped = true
      await stopLooking()
      await looking
    },
  }
}

/** Requests the rollout's version for a step's environment. @returns the change to the step */
async function requestVersion(
  { rollouts, desiredStates }: Pick<RunnerParts, 'rollouts' | 'desiredStates'>,
  { organisation, id, package: name, sha256, version }: Rollout,
  { position, environment }: RolloutStep,
  now: () => number,
): Promise<StepChange> {
  try {
    const { number } = await desiredStates.change(environment, async (last) => {
      // Another control center may have started to roll the step back.
      const { steps } = await rollouts.need(organisation, id)
      const isRunning = steps.some((step) => step.position === position && step.state === 'running')
      return isRunning ? withVersion(last, name, { sha256, version }) : null
    })
    return { number }
  } catch (error) {
    // Trying again would not help, for example if the environment already has the maximum number of solutions.
    if (!isRefusal(error)) throw error
    return { state: 'failed', endedAt: now(), failure: { code: 'unasked', message: error.message, faults: [] } }
  }
}

/** Whether a rollout changed this environment and has not undone it yet. */
function isToUndo({ state, before }: RolloutStep): boolean {
  return before !== null && state !== 'undoing' && state !== 'undone' && state !== 'not-undone'
}

/**
 * Returns new content even if this version was already requested. The Satellite tries again because of the higher
 * sequence number.
 */
function withVersion(
  { solutions, settings }: Desired,
  name: string,
  version: { readonly sha256: string; readonly version: string } | null,
): DesiredContent {
  const { [name]: _, ...others } = solutions
  return { solutions: version === null ? others : { ...others, [name]: version }, settings }
}
