/**
 * The API for a plugin's guest part. Its built-in functions were captured before any of the solution's scripts ran. A
 * guest part uses only this API and plain syntax. It never calls a prototype's method, because a script may have
 * replaced the method. The functions of this object work only as its methods.
 */
export interface GuestApi<Settings = unknown, State = unknown, Constants = unknown> {
  /** The plugin's `constants`, or null. Don't pass an object in it to scripts, because calls may share it. */
  readonly constants: Constants
  /**
   * `start` is called once in each context, before the solution's scripts run. It gets the result of the plugin's
   * `settings` for the solution's version, or null. The plugin's global itself is built without a solution, and then
   * copied into each context.
   */
  onLoad(start: (settings: Settings) => void): void
  /** The data for the current call, from the plugin's `state`. null while the scripts load. */
  state(): State | null
  /**
   * `start` runs at the beginning of each call, before the entry function. `lastCounted` is true for the first call,
   * and if the commands of the context's previous call were applied. It is false if the previous call failed, or was
   * terminated after its entry function had returned.
   */
  onCall(start: (state: State, lastCounted: boolean) => void): void
  /** Defines a function that only the host can call, as `name.method`. Scripts can neither define nor call it. */
  entry(method: string, run: (...args: never[]) => unknown): void
  /**
   * `step` is called after each entry function that succeeded, while the call is still running. Return null if there is
   * nothing to wait for.
   */
  beforeReturn(step: () => Promise<void> | null): void
  /**
   * In calls that return JSON, `read` is called with the value that the entry function returned. If the plugin created
   * the value, return its JSON text for the host; otherwise, return null.
   */
  onReturn(read: (value: unknown) => string | null): void
  /**
   * `run` is called for each form script while a client opens. `script` runs the form script and returns its functions
   * by name. Pass `script` a function that sets the form as `this` for functions that are called without a receiver.
   */
  onScript(run: (name: string, script: () => unknown) => void): void
  /**
   * Offers a function to the guest parts of other plugins, which can't import one another. Scripts can't access the
   * function.
   */
  offer<Name extends keyof Offers>(what: Name, offered: Offers[Name]): void
  /** Returns the function that another guest part offers, or null. */
  offered<Name extends keyof Offers>(what: Name): Offers[Name] | null
  /** Adds a command to the call's list. @throws Error while scripts load, and if the quota is used up */
  command(method: string, args: readonly unknown[]): void
  /**
   * Sends a request to the host. If it fails, the Promise rejects with an Error that contains the binding's name and
   * never exposes a host error.
   */
  request(method: string, args: readonly unknown[]): Promise<unknown>
  /** Looks up a text in the plugin's `tables`. Returns null if there is none. */
  lookUp(table: string, key: string): string | null
  /** Writes a line to the solution's log, with the position of the calling script. */
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
  /** Writes an error that a script threw to the solution's log, with its position. */
  report(error: unknown, what: string): void
  /**
   * Defines another global in addition to the plugin's own. It is frozen. Works while the plugin is built and in
   * `onLoad`.
   */
  defineGlobal(name: string, value: unknown): void
  /**
   * Creates an error that ends the call with `script_quota` unless the script catches it. The error's message starts
   * with `where`.
   */
  quotaError(limit: string, allowed: number, used: unknown, where?: string): Error
  /** Whether `error` was created by `quotaError`. A binding that catches scripts' errors must rethrow these. */
  isQuotaError(error: unknown): boolean
  /**
   * Whether a browser may be sent to the URL: http, https, mailto or a path on the same server (`runtime/address.ts`).
   */
  isAllowedAddress(address: string): boolean
  /** A random UUID (version 4) from the sandbox process's cryptographic source. */
  uuid(): string
  /** Whether the context persists across the calls of one client. Otherwise, it serves one call, such as a sign-in. */
  readonly isClient: boolean
  /** The current limits, by the names in the limits reference. */
  readonly limits: Readonly<Record<string, number>>
  /** Creates a list that no script can interfere with. It has no prototype, so use only indexes and length. */
  list<T>(): T[]
  /**
   * Creates an object without a prototype, for use as a map from names to values. Scripts can't affect its lookups by
   * changing Object.prototype.
   */
  record<T>(): Record<string, T>
  /** The length of an array passed by a script, read once. @throws TypeError if it is not a number */
  lengthOf(array: readonly unknown[]): number
  readonly safe: SafeBuiltins
}

/** Functions that guest parts offer each other. */
export interface Offers {
  /**
   * Creates an event that the platform fires. The form's own function gets `event` as the last argument; then `fire`
   * calls the listeners.
   */
  defaultEvent(type: string, form: string, element: string | null, args: readonly unknown[]): DefaultEvent
  /** Shows another form after the current call returns. @returns whether the form exists */
  showForm(form: string): boolean
  /** The form's name if the value is a form such as `forms.orders`; otherwise null. */
  formName(value: unknown): string | null
  /** Whether a script listens to the built-in event type, in any context. */
  hasListeners(type: string): boolean
}

/** An event that the platform fires. `fire` returns the logical AND of the listeners' return values. */
export interface DefaultEvent {
  readonly event: unknown
  readonly fire: () => boolean
}

/** Built-in functions, captured before any script ran. A method's receiver is passed as the first argument. */
export interface SafeBuiltins {
  apply<R>(target: (...args: never[]) => R, receiver: unknown, args: ArrayLike<unknown>): R
  isArray(value: unknown): value is unknown[]
  keys(value: object): string[]
  freeze<T>(value: T): T
  /** A description of a value that is safe to log. Never throws. */
  describe(value: unknown): string
  isFinite(value: unknown): boolean
  isPromise(value: unknown): boolean
  upperCase(text: string): string
  lowerCase(text: string): string
  slice(text: string, start: number, end?: number): string
  indexOf(text: string, part: string, from?: number): number
  isWellFormed(text: string): boolean
  /** Returns the part that the pattern matched, or null. Use a regular expression literal without the flags g and y. */
  match(pattern: RegExp, text: string): string | null
  hasOwn(value: object, key: string): boolean
  /** Removes the descriptor's prototype first, so that scripts can't add properties to the descriptor. */
  defineProperty(target: object, key: string, descriptor: PropertyDescriptor): void
  parse(text: string): unknown
  /** Converts a primitive value to JSON. */
  stringify(value: string | number | boolean | null): string
  /** Converts a list that `api.list` created to an ordinary array for scripts. */
  toArray<T>(items: T[]): T[]
  /** Creates a Proxy. The handler must have no prototype. */
  proxy<T extends object>(target: T, handler: ProxyHandler<T>): T
  TypeError: TypeErrorConstructor
  RangeError: RangeErrorConstructor
  Error: ErrorConstructor
}
