import type { HostCall } from '../../base/bundles/host-call.ts'
import { CALL_KINDS } from '../../runtime/call-kinds.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Failed, GuestCommand } from '../../runtime/outcome.ts'
import { type Command, type Json, type Plugin, ScriptError, type SolutionFacts } from '../../runtime/plugin.ts'
import type { CallHandlers } from '../../runtime/supervisor.ts'
import { z } from '../../runtime/zod.ts'
import type { NewLogLine } from './solution-log.ts'

/** The host side of the plugins' bindings: call state, requests during a call, and commands. */
export interface GuestBindings {
  /** The state that plugins pass to the guest for one call, by plugin. */
  stateOf(call: HostCall): Record<string, Json>
  /** The global or the property of `plugins` through which scripts use a plugin, such as `plugins.database`. */
  globalOf(plugin: string): string
  /** Responds to a script's request. @throws TypeError if no binding sends such a request */
  answer(call: HostCall, plugin: string, method: string, args: readonly Json[]): ReturnType<CallHandlers['request']>
  /**
   * Validates all commands, then applies them to the call's effects.
   * @throws TypeError if a command is invalid. No binding sends such commands, so the guest's process must not be
   *   reused.
   */
  apply(call: HostCall, commands: readonly GuestCommand[]): void
}

export type GuestBindingsParts = {
  readonly plugins: readonly Plugin[]
  readonly limits: Limits
  /**
   * Called if a plugin fails to process a request, except with a `ScriptError`. The script gets an error without
   * details.
   */
  readonly onPluginError: (error: unknown, binding: string, correlationId: string) => void
}

type CheckedCommand = { readonly command: Command; readonly args: unknown }

export function createGuestBindings({ plugins, limits, onPluginError }: GuestBindingsParts): GuestBindings {
  const byName = new Map(plugins.map((plugin) => [plugin.name, plugin]))

  function checkCommands(commands: readonly GuestCommand[], { kind, solution }: HostCall): CheckedCommand[] {
    const { refuses } = CALL_KINDS[kind]
    if (commands.length > limits.CALL_REQUESTS)
      throw new TypeError(
        `the call sent ${commands.length} commands, but CALL_REQUESTS allows at most ${limits.CALL_REQUESTS}`,
      )
    return commands.map(({ plugin, method, args }) => {
      const methods = byName.get(plugin)?.commands
      const command = methods && Object.hasOwn(methods, method) ? methods[method] : undefined
      // The binding checks this too. Only a guest that bypasses the binding can send the command.
      if (refuses.includes(`${plugin}.${method}`))
        throw new TypeError(`${plugin}.${method} is not allowed in this kind of call`)
      if (command === undefined) throw new TypeError(`there is no command ${plugin}.${method}`)
      return { command, args: readArguments(command, args, `${plugin}.${method}`, solution) }
    })
  }

  return {
    stateOf: (call) => Object.fromEntries(plugins.flatMap(({ name, state }) => (state ? [[name, state(call)]] : []))),
    globalOf(plugin) {
      const under = byName.get(plugin)?.under
      return under === undefined ? plugin : `${under}.${plugin}`
    },
    answer(call, plugin, method, args) {
      const methods = byName.get(plugin)?.requests
      const request = methods && Object.hasOwn(methods, method) ? methods[method] : undefined
      if (request === undefined) throw new TypeError(`there is no request ${plugin}.${method}`)
      const value = (async () => request.answer(call, request.check(args)))()
      value.catch((error) => {
        if (!(error instanceof ScriptError)) onPluginError(error, `${plugin}.${method}`, call.correlationId)
      })
      return { changes: request.changes, value }
    },
    apply(call, commands) {
      const checked = checkCommands(commands, call)
      if (CALL_KINDS[call.kind].hasEffects) applyCommands(call, checked)
    },
  }
}

/**
 * Returns the line that the solution's log gets for a failed call.
 * @param entry the function or event that was called. The line shows it only if the failure has no position, as it is
 *   then the only hint for the author
 */
export function failureLine({ code, message, position, limit }: Failed, entry: string | null = null): NewLogLine {
  const facts = [
    limit && `limit ${limit.name}: ${limit.allowed}`,
    limit?.used !== undefined && `used: ${limit.used}`,
    position === undefined && entry !== null && `in ${entry}`,
  ].filter((fact) => typeof fact === 'string')
  const shown = facts.length > 0 ? `${message} (${facts.join('; ')})` : message
  return { level: 'error', code, message: shown, ...(position ? { position } : {}) }
}

/** Applies login decisions first. If no user was signed in, a login call's other commands affect only its response. */
function applyCommands(call: HostCall, commands: readonly CheckedCommand[]): void {
  let loggedIn = false
  for (const { command, args } of commands) {
    if (command.decidesLogin) command.apply(call, args)
    loggedIn ||= call.effects.login !== null
  }
  const countsOnlyForAnswer = CALL_KINDS[call.kind].signsIn && !loggedIn
  if (countsOnlyForAnswer) call.effects.logout = null
  for (const { command, args } of commands) {
    if (!command.decidesLogin && (command.withoutLogin || !countsOnlyForAnswer)) command.apply(call, args)
  }
}

/** @throws TypeError with the binding's name */
function readArguments(command: Command, args: readonly Json[], binding: string, solution: SolutionFacts): unknown {
  try {
    return command.check(args, solution)
  } catch (error) {
    const issue = error instanceof z.ZodError ? error.issues[0] : undefined
    const which = typeof issue?.path[0] === 'number' ? `argument ${issue.path[0] + 1}: ` : ''
    throw new TypeError(`${binding} was called with invalid arguments (${which}${issue?.message ?? 'wrong'})`)
  }
}
