import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { createHostCall, type Effects, type HostCall, noEffects } from '../../base/bundles/host-call.ts'
import { CALL_KINDS } from '../../runtime/call-kinds.ts'
import type { Failed } from '../../runtime/outcome.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { ClientGone, SandboxClient, Supervisor } from '../../runtime/supervisor.ts'
import { failureLine, type GuestBindings } from '../solutions/guest-bindings.ts'
import { createLateAnswers } from '../solutions/late-answers.ts'
import { createRedact } from '../solutions/redact.ts'
import type { NewLogLine, SolutionLog } from '../solutions/solution-log.ts'
import { type StoreQueuedRuns, storeQueued } from '../solutions/store-queued-runs.ts'
import type { Figures } from '../telemetry/figures.ts'

export type ClientCall = {
  /** An entry function of main or of a plugin's guest part, such as `onSolutionOpen` or `forms.event`. */
  readonly entry: string
  readonly args: readonly Json[]
  /** Values that must not be logged, keyed by name. */
  readonly secrets: ReadonlyMap<string, string>
  readonly call: Omit<HostCall, 'effects' | 'solution'>
}

export type ClientCallResult = {
  /** Null if the call succeeded. */
  readonly failure: Failed | ClientGone | null
  /** The effects to apply now. After a failed call, these are only the changes that its scripts made to their forms. */
  readonly effects: Effects
}

/** Runs one call in an open client. */
export type ClientCaller = (
  sandbox: SandboxClient,
  solution: ActiveSolution,
  call: ClientCall,
) => Promise<ClientCallResult>

export type ClientCallerParts = {
  readonly supervisor: Supervisor
  readonly bindings: GuestBindings
  readonly log: Pick<SolutionLog, 'write'>
  readonly storeRuns?: StoreQueuedRuns | undefined
  /** Called after each call. */
  readonly called?: Figures['called'] | undefined
}

export function createClientCaller({ supervisor, bindings, log, storeRuns, called }: ClientCallerParts): ClientCaller {
  async function run(sandbox: SandboxClient, solution: ActiveSolution, asked: ClientCall): Promise<ClientCallResult> {
    const call = createHostCall({ ...asked.call, solution: solution.facts })
    const redact = createRedact(asked.secrets)
    const write = (line: NewLogLine) =>
      log.write(solution.name, { ...line, message: redact(line.message), correlationId: call.correlationId })
    const answers = createLateAnswers(bindings, call, write)
    const outcome = await sandbox.call(
      {
        unit: 'main',
        entry: asked.entry,
        args: asked.args,
        state: bindings.stateOf(call),
        timeLimit: CALL_KINDS[call.kind].timeLimit,
      },
      { log: write, request: answers.request },
    )
    if (outcome.code === 'client_gone') return { failure: outcome, effects: noEffects() }
    called?.({ solution: solution.name, entry: nameOf(asked), outcome })
    if (outcome.code !== 'returned') return failed(outcome)
    answers.returned(outcome.unanswered)
    try {
      bindings.apply(call, outcome.commands)
    } catch (error) {
      // The binding should have rejected the command, so the guest may have bypassed it. Don't trust anything from this
      // client from now on.
      sandbox.close()
      supervisor.retire(solution.loadable.key)
      return failed({ code: 'script_error', message: (error as Error).message, milliseconds: outcome.milliseconds })
    }
    const failure = await stored(call)
    return failure === null ? { failure, effects: call.effects } : failed(failure)

    async function stored(of: HostCall): Promise<Failed | null> {
      try {
        return await storeQueued(of, storeRuns)
      } catch (error) {
        const message = `the queued job runs could not be stored: ${(error as Error).message}`
        return { code: 'script_error', message, milliseconds: 0 }
      }
    }

    function failed(failure: Failed): ClientCallResult {
      write(failureLine(failure, nameOf(asked)))
      return { failure, effects: noEffects() }
    }
  }

  return async (sandbox, solution, asked) => {
    const result = await run(sandbox, solution, asked)
    if (result.failure === null || result.failure.code === 'client_gone' || result.failure.code === 'sandbox_busy') {
      return result
    }
    // Drop the call's commands. But its scripts have already changed elements, so show the user these changes.
    const call = { ...asked.call, kind: 'open' as const }
    const flushed = await run(sandbox, solution, { ...asked, entry: 'forms.flush', args: [], call })
    const { formUpdates, form, listening } = flushed.effects
    const effects = {
      ...noEffects(),
      form,
      ...(formUpdates ? { formUpdates } : {}),
      ...(listening ? { listening } : {}),
    }
    return { failure: result.failure, effects }
  }
}

/**
 * The name of a call in telemetry. For form events, it identifies the event, such as `forms.orders.search.onAction`.
 * Only elements of the shown form can occur in names, so their number is limited.
 */
function nameOf({ entry, args: [event] }: ClientCall): string {
  if (entry !== 'forms.event' || typeof event !== 'object' || event === null || Array.isArray(event)) return entry
  const { form, element, type } = event as Readonly<Record<string, Json>>
  return ['forms', form, element, type].filter((part) => typeof part === 'string' && part !== '').join('.')
}
