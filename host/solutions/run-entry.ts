import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { createHostCall, type Effects, type HostCall, noEffects } from '../../base/bundles/host-call.ts'
import { parseStrictJson } from '../../runtime/bundle/strict-json.ts'
import { CALL_KINDS } from '../../runtime/call-kinds.ts'
import { isJsonObject } from '../../runtime/json.ts'
import type { Failed, GuestCommand, Outcome } from '../../runtime/outcome.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { Unit } from '../../runtime/protocol.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { CallEnd } from './call-end.ts'
import { failureLine, type GuestBindings } from './guest-bindings.ts'
import { createLateAnswers } from './late-answers.ts'
import { createRedact } from './redact.ts'
import type { NewLogLine, SolutionLog } from './solution-log.ts'
import { type StoreQueuedRuns, storeQueued } from './store-queued-runs.ts'

export type EntryCall = {
  /** The group of scripts to run in. Default: the one for the kind of call. */
  readonly unit?: Unit
  /** The name of a top-level function. */
  readonly entry: string
  /** The function's name in metrics. Default: `entry`. */
  readonly label?: string
  readonly args: readonly Json[]
  /** Secrets to redact in log lines, by name. */
  readonly secrets: ReadonlyMap<string, string>
  readonly call: Omit<HostCall, 'effects' | 'solution'>
  /** Kills the call when it is aborted. */
  readonly signal?: AbortSignal
}

export type EntryResult = {
  /** For endpoints and jobs: the function's result, as the guest sent it; null if the function failed or returned nothing. */
  readonly result?: string | null
  /** The error if the call failed; otherwise null. */
  readonly failure: Failed | null
  /** The effects of the call's commands; empty if the call failed. */
  readonly effects: Effects
  /**
   * The object that the function returned, either directly or as a JSON string; empty if it returned none. It has no
   * prototype.
   */
  readonly values: Readonly<Record<string, unknown>>
  /**
   * Whether the function returned an object, even an empty one. False for null and for values that are treated as null.
   */
  readonly hasValues: boolean
}

/** Runs an entry function in a solution's scripts, and applies its commands if it succeeds. */
export type EntryRunner = (solution: ActiveSolution, call: EntryCall) => Promise<EntryResult>

export type EntryRunnerParts = {
  readonly supervisor: Supervisor
  readonly bindings: GuestBindings
  readonly log: Pick<SolutionLog, 'write'>
  readonly storeRuns?: StoreQueuedRuns | undefined
  /** Called after each call. */
  readonly called?: ((end: CallEnd) => void) | undefined
}

export function createEntryRunner({ supervisor, bindings, log, storeRuns, called }: EntryRunnerParts): EntryRunner {
  return async (solution, { unit, entry, label = entry, args, secrets, call: given, signal }) => {
    const call = createHostCall({ ...given, solution: solution.facts })
    const redact = createRedact(secrets)
    const write = (line: NewLogLine) => log.write(solution.name, { ...line, correlationId: call.correlationId })
    const writeScripts = (line: NewLogLine) => write({ ...line, message: redact(line.message) })
    const { kind } = call
    const rules = CALL_KINDS[kind]
    const answers = createLateAnswers(bindings, call, writeScripts)
    const outcome = await supervisor.call(
      solution.loadable,
      {
        unit: unit ?? rules.unit,
        entry,
        args,
        state: bindings.stateOf(call),
        timeLimit: rules.timeLimit,
        ...(rules.processes === 'logins' ? {} : { kind }),
      },
      {
        log: writeScripts,
        request: answers.request,
        began: answers.began,
        ...(signal === undefined ? {} : { signal }),
      },
    )
    if (outcome.code === 'returned') answers.returned(outcome.unanswered)
    const refused = outcome.code === 'returned' ? applied(outcome) : outcome
    const failure = refused ?? (await storeQueued(call, storeRuns))
    called?.({ solution: solution.name, entry: label, outcome: failure ?? outcome })
    if (failure === null) {
      const result = outcome.code === 'returned' ? outcome.result : null
      const values = rules.result === 'text' ? valuesOf(outcome) : null
      return { result, failure, effects: call.effects, values: values ?? {}, hasValues: values !== null }
    }
    writeScripts(failureLine(failure, label))
    return { failure, effects: noEffects(), values: {}, hasValues: false }

    function applied(returned: Extract<Outcome, { code: 'returned' }>): Failed | null {
      const { milliseconds } = returned
      try {
        bindings.apply(call, returned.commands)
      } catch (error) {
        // The binding should have rejected this command. The guest may have bypassed it, so don't reuse its process.
        supervisor.retire(solution.loadable.key)
        return { code: 'script_error', message: (error as Error).message, milliseconds }
      }
      // Ignore `i18n.missing`, because the binding issues it automatically if a text is missing.
      const asked = returned.commands.filter(({ plugin, method }) => plugin !== 'i18n' || method !== 'missing')
      if (!rules.hasEffects && asked.length > 0) write(withoutEffect(entry, asked))
      return null
    }

    function valuesOf(returned: Outcome): Record<string, unknown> | null {
      if (returned.code !== 'returned') return null
      const values = returned.result === null ? null : readValues(returned.result)
      if (values !== null) return values
      const [wanted, unread] =
        entry === 'getOAuthConfig'
          ? ['an object', 'something that is not a plain object']
          : ['a JSON string that contains an object', 'a string that is not a JSON object']
      const odd = returned.oddResult ?? (returned.result === null ? null : unread)
      if (odd !== null) {
        write({
          level: 'warn',
          message: `${entry} returned ${odd}; it is treated as null, because ${entry} must return ${wanted}`,
        })
      }
      return null
    }
  }
}

/**
 * Returns a warning that commands in a configuration call have no effect. Such a call runs at the start of each
 * sign-in, before any user is signed in.
 */
function withoutEffect(entry: string, commands: readonly GuestCommand[]): NewLogLine {
  const names = new Set(commands.map(({ plugin, method }) => `${plugin}.${method}`))
  return { level: 'warn', message: `these calls in ${entry} have no effect: ${[...names].join(', ')}` }
}

function readValues(result: string): Record<string, unknown> | null {
  const parsed = parseStrictJson(result)
  return 'value' in parsed && isJsonObject(parsed.value) ? parsed.value : null
}
