import { freeze } from './builtins.guest.ts'
import type { createCommands } from './commands.guest.ts'
import { defineGlobal } from './globals.guest.ts'
import type { GuestApi, Offers } from './guest-api.d.ts'
import type { createLog } from './log.guest.ts'
import type { createQuotas } from './quotas.guest.ts'
import { safe } from './safe.guest.ts'
import type { Binding, ContextState, Hooks, Limits } from './types.guest.ts'
import { lengthOf, list, record } from './values.guest.ts'

type ApiParts = {
  readonly state: ContextState
  readonly hooks: Hooks
  readonly limits: Limits
  readonly isClient: boolean
  readonly globals: object
} & Pick<ReturnType<typeof createQuotas>, 'quotaError' | 'quotaOf'> &
  Pick<ReturnType<typeof createLog>, 'log' | 'report'> &
  Pick<ReturnType<typeof createCommands>, 'command' | 'request'>

/** Creates the API for a plugin's guest part. */
export function createApi(parts: ApiParts) {
  const { state, hooks, limits, isClient, globals, quotaError, quotaOf, log, report, command, request } = parts
  const { loadStarts, callStarts, entries, offers } = hooks

  function stateOf(name: string): unknown {
    return state.running ? (state.message.state[name] ?? null) : null
  }

  return function apiOf(binding: Binding): GuestApi {
    const { name } = binding
    return freeze({
      state: () => stateOf(name),
      onLoad: (start: (settings: unknown) => void) => {
        // Don't assign the function to the property directly: see `state.host` in guest.ts.
        const onLoad = (settings: Record<string, unknown>) => start(settings[name] ?? null)
        loadStarts[loadStarts.length] = onLoad
      },
      onCall: (start: (state: unknown, lastCounted: boolean) => void) => {
        const onCall = (lastCounted: boolean) => start(stateOf(name), lastCounted)
        callStarts[callStarts.length] = onCall
      },
      entry: (method: string, run: (...args: never[]) => unknown) => {
        entries[`${name}.${method}`] = run as () => unknown
      },
      beforeReturn: (step: () => Promise<void> | null) => {
        hooks.beforeReturn = step
      },
      onReturn: (read: (value: unknown) => string | null) => {
        hooks.readResult = read
      },
      onScript: (run: (name: string, script: () => unknown) => void) => {
        hooks.runScript = run
      },
      offer: <Name extends keyof Offers>(what: Name, offered: Offers[Name]) => {
        offers[what] = offered
      },
      offered: <Name extends keyof Offers>(what: Name) => offers[what] ?? null,
      command: (method: string, args: readonly unknown[]) => command(binding, method, args),
      request: (method: string, args: readonly unknown[]) => request(binding, method, args),
      lookUp: (table: string, key: string) => state.host('look', `${name} ${table}`, key),
      log,
      report,
      defineGlobal: (what: string, value: unknown) => defineGlobal(globals, what, value),
      quotaError,
      isQuotaError: (error: unknown) => quotaOf(error) !== null,
      isAllowedAddress: (address: string) => address.length <= 2048 && state.host('address', address) !== null,
      uuid: () => state.host('uuid', '') as string,
      isClient,
      limits,
      list,
      record,
      lengthOf,
      safe,
    })
  }
}
