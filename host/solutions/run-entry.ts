import { parseStrictJson } from '../../runtime/bundle/strict-json.ts'
import type { Failed, GuestCommand, Outcome } from '../../runtime/outcome.ts'
import type { Json, Plugin } from '../../runtime/plugin.ts'
import type { Unit } from '../../runtime/protocol.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { ActiveSolution } from './catalog.ts'
import { createHostCall, type Effects, type HostCall, noEffects } from './host-call.ts'
import { redact } from './redact.ts'
import type { SolutionLog } from './solution-log.ts'

export type EntryCall = {
  readonly unit: Unit
  readonly entry: 'onSolutionOpen' | 'getOAuthConfig'
  readonly args: readonly Json[]
  /** What must not reach the log, by name. */
  readonly secrets: ReadonlyMap<string, string>
  readonly call: Omit<HostCall, 'effects' | 'solution'>
}

export type EntryResult = {
  /** null: the call returned well. */
  readonly failure: Failed | null
  /** Empty unless the call returned well. */
  readonly effects: Effects
  /** The object of the JSON string that the function returned; empty when it returned none. */
  readonly values: Readonly<Record<string, unknown>>
}

/** Runs an entry function of a solution's scripts and applies its commands if it returned well. */
export type EntryRunner = (solution: ActiveSolution, call: EntryCall) => Promise<EntryResult>

export type EntryRunnerParts = {
  readonly supervisor: Supervisor
  readonly plugins: readonly Plugin[]
  readonly log: SolutionLog
}

export function createEntryRunner({ supervisor, plugins, log }: EntryRunnerParts): EntryRunner {
  const byName = new Map(plugins.map((plugin) => [plugin.name, plugin]))

  function stateOf(call: HostCall): Record<string, Json> {
    return Object.fromEntries(plugins.flatMap(({ name, state }) => (state ? [[name, state(call)]] : [])))
  }

  /** Every command is checked before the first is applied. @throws when the guest sent what no binding sends */
  function applyCommands(call: HostCall, commands: readonly GuestCommand[]): void {
    const checked = commands.map(({ plugin, method, args }) => {
      const methods = byName.get(plugin)?.commands
      const command = methods && Object.hasOwn(methods, method) ? methods[method] : undefined
      if (command === undefined) throw new TypeError(`there is no command ${plugin}.${method}`)
      return { command, args: command.check(args) as never }
    })
    for (const { command, args } of checked) command.apply(call, args)
    const keepsAll = call.kind !== 'login' || call.effects.login !== null
    if (!keepsAll) dropAllButAnswers(call.effects)
  }

  async function answer(call: HostCall, plugin: string, method: string, args: readonly Json[]) {
    const methods = byName.get(plugin)?.requests
    const request = methods && Object.hasOwn(methods, method) ? methods[method] : undefined
    if (request === undefined) throw new TypeError(`there is no request ${plugin}.${method}`)
    return { value: await request.answer(call, request.check(args) as never), changes: request.changes }
  }

  return async (solution, { unit, entry, args, secrets, call: given }) => {
    const call = createHostCall({ ...given, solution: solution.facts })
    const write = (line: Parameters<SolutionLog['write']>[1]) =>
      log.write(solution.name, {
        ...line,
        message: redact(line.message, secrets),
        correlationId: call.correlationId,
      })
    const timeLimit = call.kind === 'login' ? 'AUTHENTICATOR_TIME' : 'CALL_TIME'
    const outcome = await supervisor.call(
      solution.loadable,
      { unit, entry, args, state: stateOf(call), timeLimit },
      { log: write, request: (plugin, method, requestArgs) => answer(call, plugin, method, requestArgs) },
    )
    const failure = outcome.code === 'returned' ? applied(outcome) : outcome
    if (failure === null) return { failure, effects: call.effects, values: valuesOf(outcome) }
    write(failureLine(failure))
    return { failure, effects: noEffects(), values: {} }

    function applied(returned: Extract<Outcome, { code: 'returned' }>): Failed | null {
      try {
        applyCommands(call, returned.commands)
        return null
      } catch {
        // Only a guest that went around the bindings comes here; its process is not to be used again.
        supervisor.retire(solution.loadable.key)
        const message = `${entry} sent commands that no binding sends`
        return { code: 'script_error', message, milliseconds: returned.milliseconds }
      }
    }

    function valuesOf(returned: Outcome): Record<string, unknown> {
      if (returned.code !== 'returned') return {}
      const values = returned.result === null ? null : readValues(returned.result)
      if (values !== null) return values
      const odd = returned.oddResult ?? (returned.result === null ? null : 'a text that is no JSON object')
      if (odd !== null) {
        const message = `${entry} returned ${odd}; it counts as null, since only a JSON string of an object is used`
        write({ level: 'warn', message })
      }
      return {}
    }
  }
}

/** A login attempt that logged nobody in has no other effects than on its own answer (design section 3). */
function dropAllButAnswers(effects: Effects): void {
  effects.tenant = null
  effects.form = null
  effects.logout = null
}

function readValues(result: string): Record<string, unknown> | null {
  const parsed = parseStrictJson(result)
  if ('error' in parsed) return null
  const { value } = parsed
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

function failureLine({ code, message, position, limit }: Failed): Parameters<SolutionLog['write']>[1] {
  const used = limit?.used === undefined ? '' : `, used ${limit.used}`
  const limited = limit ? ` (limit ${limit.name}: ${limit.allowed}${used})` : ''
  return { level: 'error', code, message: `${message}${limited}`, ...(position ? { position } : {}) }
}
