import { ZodError } from 'zod'
import { parseStrictJson } from '../../runtime/bundle/strict-json.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Failed, GuestCommand, Outcome } from '../../runtime/outcome.ts'
import { type Command, type Json, type Plugin, ScriptError, type SolutionFacts } from '../../runtime/plugin.ts'
import type { Unit } from '../../runtime/protocol.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { ActiveSolution } from './catalog.ts'
import { createHostCall, type Effects, type HostCall, noEffects } from './host-call.ts'
import { createRedact } from './redact.ts'
import type { NewLogLine, SolutionLog } from './solution-log.ts'

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
  /** The object that the function returned, by itself or as a JSON string; empty when it returned none. Without prototype. */
  readonly values: Readonly<Record<string, unknown>>
  /** Whether it returned one: an empty object is one, null and what counts as null is none. */
  readonly hasValues: boolean
}

/** Runs an entry function of a solution's scripts and applies its commands if it returned well. */
export type EntryRunner = (solution: ActiveSolution, call: EntryCall) => Promise<EntryResult>

type CheckedCommand = { readonly command: Command; readonly args: never }

export type EntryRunnerParts = {
  readonly supervisor: Supervisor
  readonly plugins: readonly Plugin[]
  readonly log: SolutionLog
  readonly limits: Limits
  /** Told when a plugin could not answer a request: the script learns only that it failed. A `ScriptError` is not told. */
  readonly onPluginError: (error: unknown, binding: string, correlationId: string) => void
}

export function createEntryRunner({ supervisor, plugins, log, limits, onPluginError }: EntryRunnerParts): EntryRunner {
  const byName = new Map(plugins.map((plugin) => [plugin.name, plugin]))

  function stateOf(call: HostCall): Record<string, Json> {
    return Object.fromEntries(plugins.flatMap(({ name, state }) => (state ? [[name, state(call)]] : [])))
  }

  /** Every command is checked before the first is applied. @throws when the guest sent what no binding sends */
  function checkCommands(commands: readonly GuestCommand[], solution: SolutionFacts): CheckedCommand[] {
    if (commands.length > limits.CALL_REQUESTS) throw new TypeError('there are more commands than a call may have')
    return commands.map(({ plugin, method, args }) => {
      const methods = byName.get(plugin)?.commands
      const command = methods && Object.hasOwn(methods, method) ? methods[method] : undefined
      if (command === undefined) throw new TypeError(`there is no command ${plugin}.${method}`)
      return { command, args: readArguments(command, args, `${plugin}.${method}`, solution) }
    })
  }

  /** Whether a user is logged in is decided first: without it a login's other commands count only for its answer. */
  function applyCommands(call: HostCall, commands: readonly CheckedCommand[]): void {
    if (call.kind === 'configuration') return
    let loggedIn = false
    for (const { command, args } of commands) {
      if (command.decidesLogin) command.apply(call, args)
      loggedIn ||= call.effects.login !== null
    }
    const countsOnlyForAnswer = call.kind === 'login' && !loggedIn
    if (countsOnlyForAnswer) call.effects.logout = null
    for (const { command, args } of commands) {
      if (!command.decidesLogin && (command.withoutLogin || !countsOnlyForAnswer)) command.apply(call, args)
    }
  }

  function answer(call: HostCall, plugin: string, method: string, args: readonly Json[]) {
    const methods = byName.get(plugin)?.requests
    const request = methods && Object.hasOwn(methods, method) ? methods[method] : undefined
    if (request === undefined) throw new TypeError(`there is no request ${plugin}.${method}`)
    const value = (async () => request.answer(call, request.check(args) as never))()
    value.catch((error) => {
      if (!(error instanceof ScriptError)) onPluginError(error, `${plugin}.${method}`, call.correlationId)
    })
    return { changes: request.changes, value }
  }

  return async (solution, { unit, entry, args, secrets, call: given }) => {
    const call = createHostCall({ ...given, solution: solution.facts })
    const redact = createRedact(secrets)
    const write = (line: NewLogLine) => log.write(solution.name, { ...line, correlationId: call.correlationId })
    const writeScripts = (line: NewLogLine) => write({ ...line, message: redact(line.message) })
    const timeLimit = call.kind === 'login' ? 'AUTHENTICATOR_TIME' : 'CALL_TIME'
    const outcome = await supervisor.call(
      solution.loadable,
      { unit, entry, args, state: stateOf(call), timeLimit },
      { log: writeScripts, request: (plugin, method, requestArgs) => answer(call, plugin, method, requestArgs) },
    )
    const failure = outcome.code === 'returned' ? applied(outcome) : outcome
    if (failure === null) {
      const values = valuesOf(outcome)
      return { failure, effects: call.effects, values: values ?? {}, hasValues: values !== null }
    }
    writeScripts(failureLine(failure))
    return { failure, effects: noEffects(), values: {}, hasValues: false }

    function applied(returned: Extract<Outcome, { code: 'returned' }>): Failed | null {
      const { milliseconds } = returned
      let checked: CheckedCommand[]
      try {
        checked = checkCommands(returned.commands, solution.facts)
      } catch (error) {
        // The binding let it pass, or a guest went around it: its process is not to be used again.
        supervisor.retire(solution.loadable.key)
        return { code: 'script_error', message: (error as Error).message, milliseconds }
      }
      if (call.kind === 'configuration' && returned.commands.length > 0) write(withoutEffect(entry, returned.commands))
      applyCommands(call, checked)
      return null
    }

    function valuesOf(returned: Outcome): Record<string, unknown> | null {
      if (returned.code !== 'returned') return null
      const values = returned.result === null ? null : readValues(returned.result)
      if (values !== null) return values
      const [wanted, unread] =
        entry === 'getOAuthConfig'
          ? ['an object', 'something that is no plain object']
          : ['a JSON string of an object', 'a text that is no JSON object']
      const odd = returned.oddResult ?? (returned.result === null ? null : unread)
      if (odd !== null) {
        write({ level: 'warn', message: `${entry} returned ${odd}; it counts as null, since only ${wanted} is used` })
      }
      return null
    }
  }
}

/** What such a call only decides, it must not do: nobody is signed in yet, and it runs at each start. */
function withoutEffect(entry: string, commands: readonly GuestCommand[]): NewLogLine {
  const names = new Set(commands.map(({ plugin, method }) => `${plugin}.${method}`))
  return { level: 'warn', message: `${entry} called ${[...names].join(', ')}: that has no effect there` }
}

/** @throws TypeError that names the binding */
function readArguments(command: Command, args: readonly Json[], binding: string, solution: SolutionFacts): never {
  try {
    return command.check(args, solution) as never
  } catch (error) {
    const issue = error instanceof ZodError ? error.issues[0] : undefined
    const which = typeof issue?.path[0] === 'number' ? `argument ${issue.path[0] + 1}: ` : ''
    throw new TypeError(
      `${binding} was called with arguments that it does not take (${which}${issue?.message ?? 'wrong'})`,
    )
  }
}

function readValues(result: string): Record<string, unknown> | null {
  const parsed = parseStrictJson(result)
  if ('error' in parsed) return null
  const { value } = parsed
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

function failureLine({ code, message, position, limit }: Failed): NewLogLine {
  const used = limit?.used === undefined ? '' : `, used ${limit.used}`
  const limited = limit ? ` (limit ${limit.name}: ${limit.allowed}${used})` : ''
  return { level: 'error', code, message: `${message}${limited}`, ...(position ? { position } : {}) }
}
