/**
 * What the guest part of a plugin gets. Everything here was captured before any customer's script ran; a guest part
 * uses these and plain syntax, never a method of a prototype (a script may have replaced it).
 */
export interface GuestApi<Settings = unknown, State = unknown> {
  /**
   * Called once in each context, before the solution's scripts, with the data of the version: what the plugin's `settings`
   * gave, or null. Until then there is no solution: the global is built once and copied into each context.
   */
  onLoad(start: (settings: Settings) => void): void
  /** Data of the running call, from the plugin's `state`; null while the scripts load. */
  state(): State | null
  /**
   * Called at the start of each call, before the entry function. `lastCounted`: whether the context's call before came to
   * something: the commands of one that failed, or was cut off after it had returned, were not applied. True for the first.
   */
  onCall(start: (state: State, lastCounted: boolean) => void): void
  /** A way in for the host alone, as `name.method`: scripts can neither define nor call it. */
  entry(method: string, run: (...args: never[]) => unknown): void
  /** Called after each entry function that returned well, while the call still runs; null: there is nothing to wait for. */
  beforeReturn(step: () => Promise<void> | null): void
  /**
   * Called for each form script while a client is opened: `script` runs it and returns its functions by name. It gets a function
   * that makes the form `this` of those that are called without a receiver.
   */
  onScript(run: (name: string, script: () => unknown) => void): void
  /** Gives the guest parts of other plugins a function; they cannot import one another, and scripts do not get it. */
  offer<Name extends keyof Offers>(what: Name, offered: Offers[Name]): void
  /** What another guest part offers; null where none does. */
  offered<Name extends keyof Offers>(what: Name): Offers[Name] | null
  /** Appends an effect to the call's list. @throws Error while scripts load, and when the quota is used up */
  command(method: string, args: readonly unknown[]): void
  /** Asks the host. The Promise fails with an Error that names the binding; it never carries a host error. */
  request(method: string, args: readonly unknown[]): Promise<unknown>
  /** Looks a text up in the plugin's `tables`; null for what is not there. */
  lookUp(table: string, key: string): string | null
  /** Writes a line of the solution's log, with the position of the script that called. */
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
  /** Writes an error that a script threw into the solution's log, with its position. */
  report(error: unknown, what: string): void
  /** A further global beside the plugin's own, frozen. Works while the plugin is built and in `onLoad`. */
  defineGlobal(name: string, value: unknown): void
  /** An error of the kind that becomes the outcome `script_quota` when the script does not catch it; `where` begins its text. */
  quotaError(limit: string, allowed: number, used: unknown, where?: string): Error
  /** Whether `error` came from `quotaError`: a binding that catches what scripts throw lets these through. */
  isQuotaError(error: unknown): boolean
  /** Whether a browser may be sent there: http, https, mailto or a path of the same server (`runtime/address.ts`). */
  isAllowedAddress(address: string): boolean
  /** A random UUID (version 4) of the sandbox process's cryptographic source. */
  uuid(): string
  /** Whether the context is kept for the calls of one client; else it serves one call, such as a login. */
  readonly isClient: boolean
  /** The limits in force, by their names in the table of limits. */
  readonly limits: Readonly<Record<string, number>>
  /** A list that no script can interfere with: no prototype, so use index and length only. */
  list<T>(): T[]
  /** An object that no script can interfere with, for values by name: no prototype. */
  record<T>(): Record<string, T>
  /** The length of what a script gave as an array, read once. @throws TypeError when it is no number */
  lengthOf(array: readonly unknown[]): number
  readonly safe: SafeBuiltins
}

/** What guest parts do for one another. */
export interface Offers {
  /** An event that the platform fires: the form's own function gets `event` last, then `fire` calls the listeners. */
  defaultEvent(type: string, form: string, element: string | null, args: readonly unknown[]): DefaultEvent
  /** Wishes for another form: it is shown when the running call has returned. @returns whether there is such a form */
  showForm(form: string): boolean
  /** The name of the form that the value is, as `forms.orders`; null for any other. */
  formName(value: unknown): string | null
  /** Whether a script listens to the built-in event type, in whatever context. */
  hasListeners(type: string): boolean
}

/** `fire`: the logical AND of what the listeners return. */
export interface DefaultEvent {
  readonly event: unknown
  readonly fire: () => boolean
}

/** Built-in functions, captured before any script ran, with `this` as the first argument. */
export interface SafeBuiltins {
  apply<R>(target: (...args: never[]) => R, receiver: unknown, args: ArrayLike<unknown>): R
  isArray(value: unknown): value is unknown[]
  keys(value: object): string[]
  freeze<T>(value: T): T
  /** A text of a value that is safe to write into a log: never throws. */
  describe(value: unknown): string
  isFinite(value: unknown): boolean
  isPromise(value: unknown): boolean
  upperCase(text: string): string
  lowerCase(text: string): string
  slice(text: string, start: number, end?: number): string
  indexOf(text: string, part: string, from?: number): number
  isWellFormed(text: string): boolean
  /** What the pattern matched, or null. Give it literals without the flags g and y. */
  match(pattern: RegExp, text: string): string | null
  hasOwn(value: object, key: string): boolean
  /** The descriptor loses its prototype, so that no script can add to it. */
  defineProperty(target: object, key: string, descriptor: PropertyDescriptor): void
  parse(text: string): unknown
  /** A text or number as JSON. */
  stringify(value: string | number | boolean | null): string
  /** Makes a list of `api.list` an array as scripts know it. */
  toArray<T>(items: T[]): T[]
  /** The handler must have no prototype. */
  proxy<T extends object>(target: T, handler: ProxyHandler<T>): T
  TypeError: TypeErrorConstructor
  RangeError: RangeErrorConstructor
  Error: ErrorConstructor
}
