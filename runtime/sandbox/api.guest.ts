import { freeze } from './builtins.guest.ts'
import type { createCommands } from './commands.guest.ts'
import { defineFrozen } from './globals.guest.ts'
import type { GuestApi, Offers } from './guest-api.d.ts'
import type { createLog } from './log.guest.ts'
import type { createQuotas } from './quotas.guest.ts'
import { safe } from './safe.guest.ts'
import type { Binding, ContextState, Hooks, Limits } from './types.guest.ts'
import { lengthOf, list, record } from './values.guest.ts'

/** The parts of a context that the API gives access to. */
type ApiParts = {
  readonly state: ContextState
  readonly hooks: Hooks
  readonly limits: Limits
  readonly isClient: boolean
  readonly globals: object
} & Pick<ReturnType<typeof createQuotas>, 'quotaError' | 'quotaOf'> &
  Pick<ReturnType<typeof createLog>, 'log' | 'report'> &
  Pick<ReturnType<typeof createCommands>, 'command' | 'request'>

/**
 * The API for a plugin's guest part. A class, because functions for each plugin would take time in each new context, and
 * in each call of the hardened realm. No script gets such an object.
 */
class Api implements GuestApi, Binding {
  // Without `declare`, V8 would first define each field as undefined.
  declare readonly name: string
  declare readonly path: string
  declare readonly constants: unknown
  declare readonly isClient: boolean
  declare readonly limits: Limits
  declare readonly safe: typeof safe
  readonly #parts: ApiParts

  constructor({ name, path, constants }: Binding, parts: ApiParts) {
    this.name = name
    this.path = path
    this.constants = constants
    this.isClient = parts.isClient
    this.limits = parts.limits
    this.safe = safe
    this.#parts = parts
  }

  state(): unknown {
    return stateOf(this.#parts.state, this.name)
  }

  onLoad(start: (settings: unknown) => void): void {
    const { name } = this
    const { loadStarts } = this.#parts.hooks
    // Don't assign the function to the property directly: see `state.host` in guest.ts.
    const onLoad = (settings: Record<string, unknown>) => start(settings[name] ?? null)
    loadStarts[loadStarts.length] = onLoad
  }

  onCall(start: (state: unknown, lastCounted: boolean) => void): void {
    const { name } = this
    const { state, hooks } = this.#parts
    const { callStarts } = hooks
    const onCall = (lastCounted: boolean) => start(stateOf(state, name), lastCounted)
    callStarts[callStarts.length] = onCall
  }

  entry(method: string, run: (...args: never[]) => unknown): void {
    this.#parts.hooks.entries[`${this.name}.${method}`] = run as () => unknown
  }

  beforeReturn(step: () => Promise<void> | null): void {
    this.#parts.hooks.beforeReturn = step
  }

  onReturn(read: (value: unknown) => string | null): void {
    this.#parts.hooks.readResult = read
  }

  onScript(run: (name: string, script: () => unknown) => void): void {
    this.#parts.hooks.runScript = run
  }

  offer<Name extends keyof Offers>(what: Name, offered: Offers[Name]): void {
    const offers: Partial<Offers> = this.#parts.hooks.offers
    offers[what] = offered
  }

  offered<Name extends keyof Offers>(what: Name): Offers[Name] | null {
    return this.#parts.hooks.offers[what] ?? null
  }

  command(method: string, args: readonly unknown[]): void {
    this.#parts.command(this, method, args)
  }

  request(method: string, args: readonly unknown[]): Promise<unknown> {
    return this.#parts.request(this, method, args)
  }

  lookUp(table: string, key: string): string | null {
    return this.#parts.state.host('look', `${this.name} ${table}`, key)
  }

  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void {
    this.#parts.log(level, message)
  }

  report(error: unknown, what: string): void {
    this.#parts.report(error, what)
  }

  defineGlobal(name: string, value: unknown): void {
    defineFrozen(this.#parts.globals, name, value)
  }

  quotaError(limit: string, allowed: number, used: unknown, where?: string): Error {
    return this.#parts.quotaError(limit, allowed, used, where)
  }

  isQuotaError(error: unknown): boolean {
    return this.#parts.quotaOf(error) !== null
  }

  isAllowedAddress(address: string): boolean {
    return address.length <= 2048 && this.#parts.state.host('address', address) !== null
  }

  uuid(): string {
    return this.#parts.state.host('uuid', '') as string
  }

  list<T>(): T[] {
    return list()
  }

  record<T>(): Record<string, T> {
    return record()
  }

  lengthOf(array: readonly unknown[]): number {
    return lengthOf(array)
  }
}

freeze(Api)
freeze(Api.prototype)

function stateOf({ running, message }: ContextState, name: string): unknown {
  return running ? (message.state[name] ?? null) : null
}

export function createApi(binding: Binding, parts: ApiParts): GuestApi {
  return freeze(new Api(binding, parts))
}
