// Runs once, while the snapshot of the trusted part is created: captures the built-ins and builds the bindings. Each
// context starts as a copy of that and gets the data of its solution; then the sandbox process has a single function,
// from text to text. Whatever a script later does to prototypes or globals, nothing here looks it up again.
import type { GuestApi, Offers, SafeBuiltins } from './guest-api.d.ts'

type Host = (
  context: number,
  kind: 'log' | 'look' | 'uuid' | 'address' | 'request' | 'done',
  text: string,
  key?: string,
) => string | null | false
type PluginGuest = { name: string; under: 'plugins' | null; build: (api: GuestApi) => unknown }
/** A function that finds the called entry function by its name, in the scope of the scripts. */
type FindEntry = () => unknown
/** `findEntry` is passed with the first call of any entry function other than the one the context was started for. */
type Enter = (text: string, findEntry?: FindEntry) => string
type Start = (host: Host, context: number, settings: string, findEntry?: FindEntry) => Enter
type ScriptText = { kind: 'script'; name: string }
/** Sent with an object that has an accessor for each name of the script; `shared`: names for the global object too. */
type ScopeText = { kind: 'scope'; name: string; shared: string[] }
type CallText = {
  kind: 'call'
  entry: string
  args: unknown[]
  state: Record<string, unknown>
  /** In clients only: the call's own number, and that of the last call whose end the process accepted as a success. */
  number?: number
  counted?: number
}
type AnswerText = { kind: 'answer'; id: number; ok: boolean; value: unknown }
/** A plugin's name, and the path by which scripts reach its binding, such as `plugins.database`. */
type Binding = { readonly name: string; readonly path: string }
type Thrown = { name: string; message: string; stack: string; quota: Quota | null }
type Quota = { limit: string; allowed: number; used: number }

/** The global under which a fresh context stores its `start` until it is started. */
const START = 'solhostStart'

/**
 * @param sample a `CallText` in the form of real calls
 * @param isClient whether each context persists for the calls of one client
 */
export default function bootstrap(
  limits: Record<string, number>,
  plugins: PluginGuest[],
  sample: string,
  isClient: boolean,
): Start {
  const { apply, defineProperty, getOwnPropertyDescriptor, setPrototypeOf, ownKeys, deleteProperty } = Reflect
  const { parse, stringify } = JSON
  const { freeze, keys, create } = Object
  const { isArray } = Array
  const SafeError = Error
  const SafeTypeError = TypeError
  const SafeRangeError = RangeError
  const SafePromise = Promise
  const promiseThen = Promise.prototype.then
  const SafeProxy = Proxy
  const SafeWeakMap = WeakMap
  const { get: weakGet, set: weakSet } = WeakMap.prototype
  const arrayPrototype = Array.prototype
  const hasEnumerable = Object.prototype.propertyIsEnumerable
  const { upperCase, lowerCase, slice, indexOf, isWellFormed, regExpExec } = {
    upperCase: String.prototype.toUpperCase,
    lowerCase: String.prototype.toLowerCase,
    slice: String.prototype.slice,
    indexOf: String.prototype.indexOf,
    isWellFormed: String.prototype.isWellFormed,
    regExpExec: RegExp.prototype.exec,
  }
  const isFiniteNumber = Number.isFinite
  const unwanted = ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'WeakRef', 'FinalizationRegistry', START]

  setPrototypeOf(limits, null)
  freeze(limits)
  /** For common expressions on an object without prototype: `'' + queryParams`, `queryParams.hasOwnProperty(name)`. */
  const everydayNames = ['toString', 'hasOwnProperty', Symbol.toPrimitive] as const
  const everydayMethods = [hidden(textOfObject), hidden(hasData), hidden(textOfObject)] as const
  /** Sends this context's questions to the sandbox process; does nothing before the context is started. */
  let host = (_kind: Parameters<Host>[1], _text: string, _key?: string): string | null => null
  let findEntry: FindEntry = () => undefined

  function list<T>(): T[] {
    const created: T[] = []
    setPrototypeOf(created, null)
    return created
  }

  /** The length of an array or of a Proxy around one, read once. */
  function lengthOf(array: readonly unknown[]): number {
    const length: unknown = array.length
    if (typeof length === 'number' && isFiniteNumber(length) && length >= 0) return length
    throw new SafeTypeError('the length of the array is not a number')
  }

  function record<T>(): Record<string, T> {
    return create(null)
  }

  /** A string for any value. Never throws. */
  function describe(value: unknown): string {
    try {
      if (typeof value === 'string') return value
      if (typeof value === 'object' && value !== null)
        return isArray(value) ? describeArray(value) : describeObject(value)
      if (typeof value === 'function') return '[function]'
      if (typeof value === 'symbol') return '[symbol]'
      return `${value as number}`
    } catch {
      return '[unreadable]'
    }
  }

  function describeArray(value: unknown[]): string {
    return stringify(value) ?? '[array]'
  }

  function describeObject(value: object): string {
    if (value instanceof SafeError) return describeError(value)
    return stringify(value) ?? '[object]'
  }

  function describeError(error: { name?: unknown; message?: unknown }): string {
    const { name, message } = error
    return `${typeof name === 'string' ? name : 'Error'}: ${typeof message === 'string' ? message : ''}`
  }

  function cut(text: string, length: number): string {
    return text.length > length ? `${apply(slice, text, [0, length])}…` : text
  }

  // --- plain data as text ------------------------------------------------------------------------------------------

  /** JSON of plain data. Only primitive strings are passed to JSON.stringify, so no toJSON is ever called. */
  function encode(value: unknown, depth: number, budget: { left: number }): string {
    if (typeof value === 'string') return spend(stringify(withRoom(value, budget)), budget)
    if (typeof value === 'number') return spend(isFiniteNumber(value) ? `${value}` : 'null', budget)
    if (value === null || value === undefined || typeof value === 'boolean') return spend(`${value ?? null}`, budget)
    if (typeof value !== 'object') throw new SafeTypeError(`a ${typeof value} is not plain data`)
    if (depth === 0) throw new SafeRangeError('the data is nested more than 16 levels deep')
    return isArray(value) ? encodeArray(value, depth, budget) : encodeObject(value, depth, budget)
  }

  function withRoom(text: string, budget: { left: number }): string {
    if (text.length > budget.left) throw quotaError('ARGUMENT_SIZE', limits.ARGUMENT_SIZE as number, text.length)
    return text
  }

  function encodeArray(value: unknown[], depth: number, budget: { left: number }): string {
    let text = '['
    const length = lengthOf(value)
    for (let index = 0; index < length; index++) {
      text += `${index === 0 ? '' : ','}${encode(value[index], depth - 1, budget)}`
    }
    return spend(`${text}]`, budget, 2)
  }

  function encodeObject(value: object, depth: number, budget: { left: number }): string {
    const names = keys(value)
    let text = '{'
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      const entry = encode((value as Record<string, unknown>)[name], depth - 1, budget)
      text += `${index === 0 ? '' : ','}${spend(stringify(name), budget)}:${entry}`
    }
    return spend(`${text}}`, budget, 2)
  }

  function spend(text: string, budget: { left: number }, amount = text.length): string {
    budget.left -= amount + 1
    const allowed = limits.ARGUMENT_SIZE as number
    if (budget.left < 0) throw quotaError('ARGUMENT_SIZE', allowed, allowed - budget.left)
    return text
  }

  // --- the running call --------------------------------------------------------------------------------------------

  type Waiting = { resolve: (value: unknown) => void; reject: (error: unknown) => void; binding: string }
  let running = false
  /** Initially the sample: otherwise V8 would recreate these objects' shapes in each context, slower than parsing. */
  let message = readCall(parse(sample) as CallText)
  let commands = ''
  let commandCount = 0
  let hostCalls = 0
  let logLines = 0
  let logSize = 0
  let requestIds = 0
  /** Of the running call, by their errors; null: none yet. Weak, since a script may catch any number of them. */
  let quotas: WeakMap<object, Quota> | null = null
  let waiting: Record<string, Waiting> = record()
  /** How many calls the context has served: one for a login, all calls of the client for a client. */
  let calls = 0
  /** The number of the previous call. */
  let lastNumber = 0
  /** By entry, except for the one that the context was started for. */
  const finders: Record<string, FindEntry> = record()
  const loadStarts = list<(settings: Record<string, unknown>) => void>()
  const callStarts = list<(lastCounted: boolean) => void>()
  const commandsLimit = isClient ? 'CLIENT_COMMANDS_SIZE' : 'COMMANDS_SIZE'
  /** The platform's own entries, by names that no script function can have, such as `forms.event`. */
  const entries: Record<string, () => unknown> = record()
  const offers: Partial<Offers> = create(null)
  let beforeReturn: (() => Promise<void> | null) | null = null
  let runScript: ((name: string, run: () => unknown) => void) | null = null

  /** Resets the counters of the last call. Log lines written while the scripts loaded count for the first call. */
  function forgetLastCall(): void {
    commands = ''
    commandCount = 0
    hostCalls = 0
    logLines = 0
    logSize = 0
    quotas = null
    // Requests still waiting get no answer: their call has ended.
    waiting = record()
  }

  /** `used` may be any value that a script passes as a length: only a number may be in the outcome. */
  function quotaError(limit: string, allowed: number, amount: unknown, where?: string): Error {
    const used = typeof amount === 'number' && isFiniteNumber(amount) ? amount : allowed + 1
    const place = where === undefined ? '' : `${where}: `
    const error = new SafeRangeError(`${place}the limit ${limit} of ${allowed} is exceeded`)
    quotas ??= new SafeWeakMap()
    apply(weakSet, quotas, [error, { limit, allowed, used }])
    return error
  }

  function quotaOf(error: unknown): Quota | null {
    return quotas === null ? null : ((apply(weakGet, quotas, [error as object]) as Quota | undefined) ?? null)
  }

  function countHostCall(): void {
    hostCalls++
    const allowed = limits.CALL_REQUESTS as number
    if (hostCalls > allowed) throw quotaError('CALL_REQUESTS', allowed, hostCalls)
  }

  function command({ name, path }: Binding, method: string, args: readonly unknown[]): void {
    if (!running)
      throw new SafeError(`${path}.${method} works only in a call such as onSolutionOpen, not while scripts load`)
    countHostCall()
    const allowed = limits[commandsLimit] as number
    const text = `{"plugin":${stringify(name)},"method":${stringify(method)},"args":${encodeArgs(args)}}`
    if (commands.length + text.length > allowed) throw quotaError(commandsLimit, allowed, commands.length + text.length)
    commands += `${commandCount++ === 0 ? '' : ','}${text}`
  }

  function encodeArgs(args: readonly unknown[]): string {
    return encode(args, 16, { left: limits.ARGUMENT_SIZE as number })
  }

  function request({ name, path }: Binding, method: string, args: readonly unknown[]): Promise<unknown> {
    return new SafePromise((resolve, reject) => {
      if (!running)
        throw new SafeError(`${path}.${method} works only in a call such as onSolutionOpen, not while scripts load`)
      countHostCall()
      const id = ++requestIds
      const text = `{"id":${id},"plugin":${stringify(name)},"method":${stringify(method)},"args":${encodeArgs(args)}}`
      waiting[id] = { resolve, reject, binding: `${path}.${method}` }
      host('request', text)
    })
  }

  function answer({ id, ok, value }: AnswerText): void {
    const one = waiting[id]
    if (one === undefined) return
    delete waiting[id]
    if (ok) one.resolve(value)
    else one.reject(new SafeError(typeof value === 'string' ? value : `${one.binding} failed`))
  }

  function log(level: string, message: string): void {
    const stack = new SafeError().stack
    writeLog(level, message, typeof stack === 'string' ? stack : '')
  }

  /** Output beyond the quota is cut off and reported once. It never fails the call. */
  function writeLog(level: string, message: string, stack: string): void {
    const text = cut(message, 8192)
    logLines++
    logSize += text.length
    const linesLeft = (limits.LOG_LINES as number) - logLines
    if (linesLeft < -1) return
    if (linesLeft === -1 || logSize > (limits.LOG_SIZE as number)) {
      logLines = (limits.LOG_LINES as number) + 1
      host(
        'log',
        '{"level":"warn","message":"further lines of this call are dropped: LOG_LINES or LOG_SIZE is exceeded","stack":""}',
      )
      return
    }
    host('log', `{"level":${stringify(level)},"message":${stringify(text)},"stack":${stringify(cut(stack, 2048))}}`)
  }

  function report(error: unknown, what: string): void {
    const thrown = readThrown(error)
    writeLog('error', `${what}: ${thrown.name}: ${thrown.message}`, thrown.stack)
  }

  // --- errors and results ------------------------------------------------------------------------------------------

  /** Reads what a script threw. Its getters may run here, inside the timed call. */
  function readThrown(error: unknown): Thrown {
    const thrown: Thrown = { name: 'Error', message: '', stack: '', quota: null }
    try {
      thrown.quota = quotaOf(error)
      if (typeof error !== 'object' || error === null) {
        thrown.name = 'Thrown value'
        thrown.message = cut(describe(error), 2000)
        return thrown
      }
      const { name, message, stack } = error as { name: unknown; message: unknown; stack: unknown }
      if (typeof name === 'string') thrown.name = cut(name, 100)
      thrown.message = cut(typeof message === 'string' ? message : describe(message), 2000)
      if (typeof stack === 'string') thrown.stack = cut(stack, 4096)
    } catch {
      thrown.message = thrown.message || '[unreadable]'
    }
    return thrown
  }

  function failedText(error: unknown): string {
    const thrown = readThrown(error)
    const quota = thrown.quota
    const quotaText =
      quota === null
        ? ''
        : `,"quota":{"limit":${stringify(quota.limit)},"allowed":${quota.allowed},"used":${quota.used}}`
    return `{"ok":false,"name":${stringify(thrown.name)},"message":${stringify(thrown.message)},"stack":${stringify(thrown.stack)}${quotaText}}`
  }

  function returnedText(returned: unknown): string {
    const result = message.entry === 'getOAuthConfig' ? objectText(returned) : returned
    if (typeof result === 'string') {
      const allowed = limits.RESULT_SIZE as number
      if (result.length > allowed) return failedText(quotaError('RESULT_SIZE', allowed, result.length))
      return `{"ok":true,"result":${stringify(result)},"commands":[${commands}]}`
    }
    const odd = result === undefined || result === null ? '' : `,"odd":${stringify(kindOf(result))}`
    return `{"ok":true,"result":null${odd},"commands":[${commands}]}`
  }

  /** An object as JSON, anything else unchanged. Getters and toJSON of scripts run here, inside the timed call. */
  function objectText(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || isArray(value)) return value
    return stringify(value) ?? value
  }

  function kindOf(value: unknown): string {
    return isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`
  }

  // --- calls and answers -------------------------------------------------------------------------------------------

  function textOfObject(): string {
    return '[object Object]'
  }

  /** False for the methods themselves: only the data that was sent counts. */
  function hasData(this: object, name: string): boolean {
    return apply(hasEnumerable, this, [name])
  }

  function hidden(value: object): PropertyDescriptor {
    const descriptor: PropertyDescriptor = {
      value: freeze(value),
      enumerable: false,
      writable: true,
      configurable: true,
    }
    setPrototypeOf(descriptor, null)
    return descriptor
  }

  /** Adds own, non-enumerable methods, so that nothing is inherited. Data sent under such a name is kept. */
  function addEverydayMethods(data: object): void {
    for (let index = 0; index < everydayNames.length; index++) {
      const name = everydayNames[index] as PropertyKey
      if (getOwnPropertyDescriptor(data, name) === undefined) {
        defineProperty(data, name, everydayMethods[index] as PropertyDescriptor)
      }
    }
  }

  /** Objects that scripts and bindings read get no prototype, since a script could have changed it. */
  function readCall(read: CallText): CallText {
    setPrototypeOf(read.state, null)
    const { args } = read
    for (let index = 0; index < args.length; index++) {
      const arg = args[index]
      if (typeof arg !== 'object' || arg === null || isArray(arg)) continue
      setPrototypeOf(arg, null)
      addEverydayMethods(arg)
    }
    return read
  }

  function call(read: CallText): string {
    message = readCall(read)
    if (++calls > 1) forgetLastCall()
    const own = calls
    running = true
    const lastCounted = read.counted === undefined || read.counted === lastNumber
    lastNumber = read.number ?? 0
    for (let index = 0; index < callStarts.length; index++) {
      ;(callStarts[index] as (lastCounted: boolean) => void)(lastCounted)
    }
    const entry = entries[message.entry] ?? (finders[message.entry] ?? findEntry)()
    if (typeof entry !== 'function') {
      running = false
      return failedText(new SafeTypeError(`the scripts have no function ${message.entry}`))
    }
    const result = apply(entry as () => unknown, undefined, message.args)
    if (typeof result !== 'object' || result === null) return conclude(own, result)
    const settled = new SafePromise((resolve) => resolve(result))
    // The result of `then` is not used, but its species constructor would be looked up on our own Promise only.
    apply(promiseThen, settled, [
      (value: unknown) => done(own, () => conclude(own, value)),
      (error: unknown) => done(own, () => failedText(error)),
    ])
    return ''
  }

  /** Runs the remaining work after the entry function has returned. @returns '' while that work waits */
  function conclude(own: number, value: unknown): string {
    const left = beforeReturn === null ? null : beforeReturn()
    if (left === null) return finished(returnedText(value))
    apply(promiseThen, left, [
      () => done(own, () => returnedText(value)),
      (error: unknown) => done(own, () => failedText(error)),
    ])
    return ''
  }

  /** @param own the number of the call, which may have timed out long ago */
  function done(own: number, makeText: () => string): void {
    if (own !== calls || !running) return
    let text: string
    try {
      text = makeText()
    } catch (error) {
      text = failedText(error)
    }
    if (text !== '') host('done', finished(text))
  }

  function finished(text: string): string {
    running = false
    return text
  }

  function enter(text: string, finder?: FindEntry): string {
    try {
      const read = parse(text) as CallText | AnswerText | ScriptText | ScopeText
      if (read.kind === 'scope') {
        if (finder !== undefined) addScope(read, finder)
        return ''
      }
      if (read.kind === 'script') {
        if (runScript !== null && finder !== undefined) runScript(read.name, finder)
        return ''
      }
      if (finder !== undefined && read.kind === 'call') finders[read.entry] = finder
      if (read.kind === 'call') return call(read)
      answer(read)
      return ''
    } catch (error) {
      return finished(failedText(error))
    }
  }

  // --- scopes ------------------------------------------------------------------------------------------------------

  const scopes = record<object>()

  /** If two scripts have the same scope, or the same shared name, the later one wins. */
  function addScope({ name, shared }: ScopeText, view: object): void {
    if (name !== 'globals') {
      scopes[name] ??= record<unknown>()
      const names = keys(view)
      for (let index = 0; index < names.length; index++) takeMember(scopes[name], view, names[index] as string)
    }
    for (let index = 0; index < shared.length; index++) takeMember(globalThis, view, shared[index] as string)
  }

  function takeMember(target: object, view: object, name: string): void {
    const descriptor = getOwnPropertyDescriptor(view, name)
    if (descriptor === undefined) return
    setPrototypeOf(descriptor, null)
    descriptor.configurable = true
    // A declaration of an earlier script can be assigned, but not redefined.
    if (!defineProperty(target, name, descriptor)) {
      ;(target as Record<string, unknown>)[name] = (view as Record<string, unknown>)[name]
    }
  }

  /** A solution may have its own global of that name. */
  function defineReplaceable(name: string, value: object): void {
    defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true })
  }

  // --- globals -----------------------------------------------------------------------------------------------------

  /**
   * Blocking waits, threads' clocks, memory outside the heap limit, and code that runs outside any call. Removed at
   * each context's start, not in the snapshot: V8 extends some of them in every new context, and crashes without them.
   */
  function removeGlobals(): void {
    for (let index = 0; index < unwanted.length; index++) deleteProperty(globalThis, unwanted[index] as string)
  }

  /** The RegExp statics expose the last match of any other code. */
  function removeRegExpStatics(): void {
    for (const key of ownKeys(RegExp)) {
      const descriptor = getOwnPropertyDescriptor(RegExp, key)
      if (descriptor?.get !== undefined && typeof key === 'string') deleteProperty(RegExp, key)
    }
  }

  function defineGlobal(name: string, value: unknown): void {
    defineFrozen(globalThis, name, value)
  }

  function defineFrozen(target: object, name: string, value: unknown): void {
    if (typeof value === 'function') freeze(value)
    else if (typeof value === 'object' && value !== null) {
      const names = keys(value)
      for (let index = 0; index < names.length; index++) {
        const part = (value as Record<string, unknown>)[names[index] as string]
        if (typeof part === 'function') freeze(part)
      }
      freeze(value)
    }
    defineProperty(target, name, { value, writable: false, enumerable: true, configurable: false })
  }

  const safe: SafeBuiltins = {
    apply: apply as SafeBuiltins['apply'],
    isArray,
    keys,
    freeze,
    describe,
    isFinite: isFiniteNumber,
    isPromise: (value) => value instanceof SafePromise,
    upperCase: (text) => apply(upperCase, text, []),
    lowerCase: (text) => apply(lowerCase, text, []),
    slice: (text, start, end) => apply(slice, text, [start, end]),
    indexOf: (text, part, from) => apply(indexOf, text, [part, from]),
    isWellFormed: (text) => apply(isWellFormed, text, []),
    match: (pattern, text) => apply(regExpExec, pattern, [text])?.[0] ?? null,
    defineProperty: (target, key, descriptor) => {
      setPrototypeOf(descriptor, null)
      defineProperty(target, key, descriptor)
    },
    parse,
    stringify: (text) => stringify(text),
    toArray: (items) => {
      setPrototypeOf(items, arrayPrototype)
      return items
    },
    proxy: (target, handler) => new SafeProxy(target, handler),
    hasOwn: (value, key) => getOwnPropertyDescriptor(value, key) !== undefined,
    TypeError: SafeTypeError,
    RangeError: SafeRangeError,
    Error: SafeError,
  }
  freeze(safe)

  function stateOf(name: string): unknown {
    return running ? (message.state[name] ?? null) : null
  }

  function apiOf(binding: Binding): GuestApi {
    const { name } = binding
    return freeze({
      state: () => stateOf(name),
      onLoad: (start: (settings: unknown) => void) => {
        loadStarts[loadStarts.length] = (settings) => start(settings[name] ?? null)
      },
      onCall: (start: (state: unknown, lastCounted: boolean) => void) => {
        callStarts[callStarts.length] = (lastCounted) => start(stateOf(name), lastCounted)
      },
      entry: (method: string, run: (...args: never[]) => unknown) => {
        entries[`${name}.${method}`] = run as () => unknown
      },
      beforeReturn: (step: () => Promise<void> | null) => {
        beforeReturn = step
      },
      onScript: (run: (name: string, script: () => unknown) => void) => {
        runScript = run
      },
      offer: <Name extends keyof Offers>(what: Name, offered: Offers[Name]) => {
        offers[what] = offered
      },
      offered: <Name extends keyof Offers>(what: Name) => offers[what] ?? null,
      command: (method: string, args: readonly unknown[]) => command(binding, method, args),
      request: (method: string, args: readonly unknown[]) => request(binding, method, args),
      lookUp: (table: string, key: string) => host('look', `${name} ${table}`, key),
      log,
      report,
      defineGlobal,
      quotaError,
      isQuotaError: (error: unknown) => quotaOf(error) !== null,
      isAllowedAddress: (address: string) => address.length <= 2048 && host('address', address) !== null,
      uuid: () => host('uuid', '') as string,
      isClient,
      limits,
      list,
      record,
      lengthOf,
      safe,
    })
  }

  function consoleOf(): Record<string, unknown> {
    const created: Record<string, unknown> = record()
    const write =
      (level: string) =>
      (...args: unknown[]): void => {
        let text = ''
        for (let index = 0; index < args.length && index < 20; index++) {
          text += `${index === 0 ? '' : ' '}${cut(describe(args[index]), 8192)}`
        }
        log(level, text)
      }
    const levels = { debug: 'debug', log: 'info', info: 'info', warn: 'warn', error: 'error', trace: 'debug' }
    for (const name of keys(levels)) created[name] = write(levels[name as keyof typeof levels])
    return created
  }

  /** Binds this context to a solution. Called once, before any of its scripts run. */
  function start(ask: Host, context: number, settingsText: string, finder?: FindEntry): Enter {
    if (finder !== undefined) findEntry = finder
    host = (kind, text, key) => {
      let answered: string | null | false
      try {
        answered = ask(context, kind, text, key)
      } catch {
        // When the stack is exhausted, the call fails on its way out, with an error that exposes the process around it.
        answered = false
      }
      if (answered === false) throw new SafeRangeError('Maximum call stack size exceeded')
      return answered
    }
    removeGlobals()
    const settings = parse(settingsText) as Record<string, unknown>
    setPrototypeOf(settings, null)
    for (let index = 0; index < loadStarts.length; index++) {
      ;(loadStarts[index] as (settings: Record<string, unknown>) => void)(settings)
    }
    return enter
  }

  removeRegExpStatics()
  deleteProperty(globalThis, 'console')
  const underPlugins = {}
  defineGlobal('console', consoleOf())
  scopes.globals = globalThis
  defineReplaceable('globals', globalThis)
  defineReplaceable('scopes', scopes)
  for (let index = 0; index < plugins.length; index++) {
    const { name, under, build } = plugins[index] as PluginGuest
    const path = under === null ? name : `${under}.${name}`
    const built = build(apiOf({ name, path }))
    if (built === undefined) continue
    if (under === null) defineGlobal(name, built)
    else defineFrozen(underPlugins, name, built)
  }
  if (ownKeys(underPlugins).length > 0) defineGlobal('plugins', underPlugins)
  return start
}
