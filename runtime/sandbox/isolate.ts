import type ivm from 'isolated-vm'
import type { LogLevel, Position } from '../outcome.ts'
import type { Json } from '../plugin.ts'
import type { SandboxFormScript, SandboxScript, ScriptScope, Trusted } from '../protocol.ts'
import { type CallEnd, callText, describeFault, type LoadFault } from './call-end.ts'
import { type FindTable, parsedOnDemand } from './guest-questions.ts'
import { loadIsolatedVm } from './load-isolated-vm.ts'

// The only file that uses isolated-vm. Only strings cross the boundary: each context gets one callback and returns
// one function.

const vm = loadIsolatedVm()

export type Isolate = ivm.Isolate
export type Context = ivm.Context
export type Script = ivm.Script
export type Reference = ivm.Reference
export type Callback = ivm.Callback
export type InspectorSession = ivm.InspectorSession

const MEGABYTE = 1024 ** 2
/** The trusted part's file name in stack traces; no file in a solution can have this name. */
export const TRUSTED = 'solhost:guest'

/** The messages that a context sends to the surrounding process. */
export type IsolateEvents = {
  readonly log: (call: number, level: LogLevel, message: string, position?: Position) => void
  readonly request: (call: number, request: number, plugin: string, method: string, args: readonly Json[]) => void
  readonly ended: (call: number, end: CallEnd) => void
  /** Called after a call that succeeded, once the context for the next one is created. */
  readonly settled: () => void
}

/** Called with each file before its top-level code runs. */
export type Loading = (file: string) => void

/** Compiles one script without running it. */
export function compileFault(isolate: ivm.Isolate, file: string, source: string): LoadFault | null {
  try {
    compile(isolate, file, source).release()
    return null
  } catch (error) {
    return describeFault(error, 'script_syntax', file, new Set([file]))
  }
}

export function compile(isolate: ivm.Isolate, file: string, source: string, scope?: ScriptScope): ivm.Script {
  try {
    return isolate.compileScriptSync(...toCompile(file, source, scope))
  } catch (error) {
    // Compile the file alone to get the right position. Otherwise, an error at the end of the file would be reported in
    // the code that we append.
    isolate.compileScriptSync(source, { filename: file }).release()
    throw error
  }
}

/**
 * Like `compile`, but on the isolate's own thread, in parallel with other isolates.
 * @throws the syntax error, a LoadFault
 */
export async function compileBeside(isolate: ivm.Isolate, { file, source, scope }: SandboxScript): Promise<ivm.Script> {
  try {
    return await isolate.compileScript(...toCompile(file, source, scope))
  } catch (error) {
    throw describeFault((await syntaxError(isolate, file, source)) ?? error, 'script_syntax', file, new Set([file]))
  }
}

/**
 * Compiles a form's script as a function, so that its declarations are not global. Running the compiled script returns
 * this function. Call it with a function that binds other functions to the form. It returns the script's functions that
 * are listed in `functions`. Error positions are the same as in the file.
 * @throws the syntax error, a LoadFault
 */
export async function compileForm(isolate: ivm.Isolate, { file, source, functions, bound }: SandboxFormScript) {
  // Insert this before the script's first statement, on the same line. A strict script has no bound functions, so
  // nothing precedes its directive.
  const before = `(function () {${bound.map((name) => `${name}=arguments[0](${name});`).join('')}`
  const given = functions.map((name) => `, ${name}`).join('')
  const wrapped = `${before}${source}\n;return { __proto__: null${given} } })`
  try {
    return await isolate.compileScript(wrapped, { filename: file, columnOffset: -before.length })
  } catch (error) {
    throw describeFault((await syntaxError(isolate, file, source)) ?? error, 'script_syntax', file, new Set([file]))
  }
}

/** Returns the syntax error in the file without any wrapper; undefined if there is none. */
function syntaxError(isolate: ivm.Isolate, file: string, source: string): Promise<unknown> {
  return isolate.compileScript(source, { filename: file }).then(
    (script) => script.release(),
    (error: unknown) => error,
  )
}

/** Returns a function that contexts in all isolates can call synchronously. */
export function callbackOf(call: (...args: unknown[]) => string | null | false): ivm.Callback {
  return new vm.Callback(call, { sync: true })
}

/** Returns the source of a function that returns the script's function with this name, however it was declared. */
export function finderSource(entry: string): string {
  return `(function () { 'use strict'; return typeof ${entry} === 'function' ? ${entry} : undefined })`
}

/** @param memory in bytes */
export function createIsolate(memory: number): ivm.Isolate {
  return new vm.Isolate({ memoryLimit: inMegabytes(memory) })
}

/** isolated-vm doesn't accept limits below 8 MB. */
function inMegabytes(bytes: number): number {
  return Math.max(8, Math.round(bytes / MEGABYTE))
}

/**
 * A script with a scope returns an object with an accessor for each of its names; scopes.guest.ts builds `scopes` from
 * these.
 */
function toCompile(file: string, source: string, scope?: ScriptScope): [string, ivm.ScriptOrigin] {
  if (scope === undefined) return [closed(source), { filename: file }]
  const view = viewOf(scope.names)
  if (!scope.isOwn) return [`${source}\n;(${view})`, { filename: file }]
  const before = '(function () {'
  return [`${before}${source}\n;return ${view} })()`, { filename: file, columnOffset: -before.length }]
}

/** Returns the source of an object with an accessor for each name. */
function viewOf(names: readonly string[]): string {
  const accessors = names.map((name) => {
    const given = name === 'value' ? 'given' : 'value'
    return `, get ${name}() { return ${name} }, set ${name}(${given}) { ${name} = ${given} }`
  })
  return `{ __proto__: null${accessors.join('')} }`
}

/**
 * Compiles a script as a function for the hardened realm: (globals, lexicals, declare) => run. The script finds the
 * names of other scripts in `globals` and `lexicals`. Names that never change are constants, which are faster. Scripts
 * are always strict, so that an assignment to a frozen object is an error. Error positions are the same as in the file.
 * @param constants names that exist in all calls, and that scripts cannot change
 * @param secret a part of the names of our own variables around the script, so that scripts can't guess these names
 */
export function compileInRealm(
  isolate: ivm.Isolate,
  { file, source, scope, realm = { globals: [], lexicals: [] } }: SandboxScript,
  constants: readonly string[],
  secret: string,
): ivm.Script {
  needClosed(isolate, file, source)
  const names = [...new Set([...realm.globals, ...realm.lexicals, ...(scope?.names ?? [])])]
  const [globals, lexicals, declare] = ['globals', 'lexicals', 'declare'].map((name) => `${name}_${secret}`)
  const before = [
    `(function (${globals}, ${lexicals}, ${declare}) { with (${globals}) { with (${lexicals}) {`,
    `const { ${constants.join()} } = ${globals}; return function () { ${STRICT}`,
    `${declare}(${viewOf(names)});`,
  ].join('')
  return isolate.compileScriptSync(`${before}${source}\n} } } })`, { filename: file, columnOffset: -before.length })
}

/**
 * Compiles a standalone script as a function for the hardened realm: (builtIns) => (bindings, declare) => run.
 * `declare` gets a function that returns the value of a top-level name.
 *
 * No global object or accessor is created for a call. V8 allocates accessors as long-lived, so they would keep each
 * call's objects in memory until the next full garbage collection.
 * @param constants the names that the script may use
 * @param secret as in `compileInRealm`
 */
export function compileAlone(
  isolate: ivm.Isolate,
  { file, source, realm = { globals: [], lexicals: [] } }: SandboxScript,
  constants: { readonly builtIn: readonly string[]; readonly own: readonly string[] },
  secret: string,
): ivm.Script {
  needClosed(isolate, file, source)
  const [builtIns, bindings, declare] = ['builtIns', 'bindings', 'declare'].map((name) => `${name}_${secret}`)
  const names = new Set([...realm.globals, ...realm.lexicals])
  const cases = [...names].map((name) => `case ${JSON.stringify(name)}: return ${name};`)
  const before = [
    `(function (${builtIns}) { const { ${constants.builtIn.join()} } = ${builtIns};`,
    `return function (${bindings}, ${declare}) { const { ${constants.own.join()} } = ${bindings};`,
    `return function () { ${STRICT}${declare}(function () { switch (arguments[0]) { ${cases.join('')} } });`,
  ].join('')
  return isolate.compileScriptSync(`${before}${source}\n} } })`, { filename: file, columnOffset: -before.length })
}

const STRICT = `'use strict';`

/**
 * Rejects a file whose text closes the function that we wrap around it, and continues outside. @throws the syntax error
 */
function needClosed(isolate: ivm.Isolate, file: string, source: string): void {
  isolate.compileScriptSync(`${STRICT}${source}`, { filename: file, columnOffset: -STRICT.length }).release()
}

/** Returns the message that is sent to the guest with the object of a script that has a scope. */
export function scopeText({ name, shared }: ScriptScope): string {
  return JSON.stringify({ kind: 'scope', name, shared })
}

/**
 * Makes a script's completion value undefined. Otherwise, the value would cross the boundary, and it could be a Proxy.
 */
function closed(source: string): string {
  return `${source}\n;void 0;`
}

/** A context that contains the trusted part, not yet bound to a solution. */
export type FreshContext = { readonly context: ivm.Context; readonly start: ivm.Reference }

/** The global in which a fresh context stores its `start`, see globals.guest.ts. */
export const START = 'solhostStart'

/** A process's isolate before it has a solution. Its contexts start with the trusted part, from a snapshot. */
export type PreparedIsolate = {
  readonly isolate: ivm.Isolate
  readonly limits: Trusted['limits']
  /** Finds a table that all solutions share. */
  readonly sharedTable: FindTable
  /** The snapshot in base64, if this process created it. */
  readonly newSnapshot: string | null
  readonly freshContext: () => FreshContext
  /** Creates the next fresh context in advance. */
  readonly makeAhead: () => void
  /** Creates another isolate, for the hardened realm. It starts without a snapshot, so each global exists only once. */
  readonly hardened: () => HardenedIsolate
  /** Creates another isolate, for clients. Its contexts also start with the parts that only clients have. */
  readonly another: () => ivm.Isolate
  /** Creates the snapshot for clients. @returns it in base64 */
  readonly clientSnapshot: () => string
  /** Sets the snapshot for clients, which another process created. */
  readonly useClientSnapshot: (snapshot: Buffer) => void
  /**
   * Creates an isolate that a debugger can attach to. On Node 26, attaching a debugger aborts the process.
   * @param isClient whether it is for clients
   */
  readonly debugged: (isClient: boolean) => ivm.Isolate
}

/** `source`: an expression for a function that creates the realm in a new context; see realm.guest.ts. */
export type HardenedIsolate = {
  readonly isolate: ivm.Isolate
  readonly limits: Trusted['limits']
  readonly sharedTable: FindTable
  readonly source: string
}

function snapshotOf(trusted: Trusted, isClient: boolean) {
  const limits = isClient ? undefined : inDictionary(trusted.limits)
  const code = `globalThis.${START} = ${trustedSource(trusted, isClient, limits)}(globalThis);`
  const created = vm.Isolate.createSnapshot([{ code, filename: TRUSTED }]).copy()
  keepHashes(created)
  return new vm.ExternalCopy(created)
}

/**
 * Returns the source of an object without a prototype. V8 stores its properties in a dictionary. For other objects, each
 * context would have a hidden class for each property. Contexts for clients have them, because looking up a property is
 * then faster.
 */
function inDictionary(limits: Trusted['limits']): string {
  return JSON.stringify(limits).replace('{', '{"__proto__":null,')
}

/**
 * Marks a snapshot so that V8 doesn't rehash it for each new context. All processes that use it have the hash seed with
 * which it was created (sandbox-process.ts), so rehashing would only take time: a quarter of a context's creation.
 *
 * A snapshot starts with two little-endian 32-bit numbers: the number of contexts, and 1 if V8 may rehash the snapshot.
 * No checksum includes them (V8's `src/snapshot/snapshot.cc`). If a future version of V8 starts its snapshots in another
 * way, the snapshot stays as it is.
 */
function keepHashes(snapshot: ArrayBuffer): void {
  const start = new DataView(snapshot, 0, 8)
  if (start.getUint32(0, true) === 1 && start.getUint32(4, true) === 1) start.setUint32(4, 0, true)
}

function inBase64(snapshot: ReturnType<typeof snapshotOf>): string {
  return Buffer.from(snapshot.copy()).toString('base64')
}

function copyOf({ buffer, byteOffset, byteLength }: Buffer) {
  return new vm.ExternalCopy(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer, { transferOut: true })
}

/**
 * Runs the trusted part once and saves the result as a heap snapshot, from which every context starts. This is much
 * faster than building the trusted part each time, and no script can have changed the snapshot.
 * @param readTrusted parses the data; called at most once, because most processes that know the snapshot don't need it
 * @param known the snapshot that another process created in the same way; may be empty. Creating a snapshot takes longer
 * than the rest of this function.
 * @throws any error that a guest part throws
 */
export function prepareIsolate(limits: Trusted['limits'], readTrusted: () => Trusted, known: Buffer): PreparedIsolate {
  const memoryLimit = inMegabytes(limits.ISOLATE_MEMORY as number)
  let read: Trusted | null = null
  const trusted = () => {
    read ??= readTrusted()
    return read
  }
  const forLogins = () => ({ ...trusted(), guests: trusted().guests.filter(({ clientsOnly }) => clientsOnly !== true) })
  const snapshot = known.length === 0 ? snapshotOf(forLogins(), false) : copyOf(known)
  const isolate = new vm.Isolate({ memoryLimit, snapshot })
  let tables: FindTable | null = null
  const sharedTable: FindTable = (name) => {
    tables ??= parsedOnDemand(trusted().tables)
    return tables(name)
  }
  /** Created on demand: a process that serves logins has no clients. */
  let forClients: ReturnType<typeof snapshotOf> | null = null
  let ahead: FreshContext | null = null

  function snapshotForClients() {
    forClients ??= snapshotOf(trusted(), true)
    return forClients
  }

  function makeContext(): FreshContext {
    const context = isolate.createContextSync()
    return { context, start: context.global.getSync(START, { reference: true }) as ivm.Reference }
  }

  return {
    isolate,
    limits,
    sharedTable,
    newSnapshot: known.length === 0 ? inBase64(snapshot) : null,
    freshContext() {
      const fresh = ahead ?? makeContext()
      ahead = null
      return fresh
    },
    makeAhead() {
      ahead ??= makeContext()
    },
    hardened() {
      const ours = forLogins()
      const build = `function (Reflect) { return ${trustedSource(ours, false)} }`
      const optional = JSON.stringify(ours.guests.map(({ onlyIfNamed }) => onlyIfNamed === true))
      const source = `(function (ask) { return ${asFunction(ours.realm)}(${build}, ${optional}, ask) })`
      return { isolate: new vm.Isolate({ memoryLimit }), limits, sharedTable, source }
    },
    another: () => new vm.Isolate({ memoryLimit, snapshot: snapshotForClients() }),
    clientSnapshot: () => inBase64(snapshotForClients()),
    useClientSnapshot(created) {
      forClients = copyOf(created)
    },
    debugged: (isClient) =>
      new vm.Isolate({
        memoryLimit,
        snapshot: snapshotOf(isClient ? trusted() : forLogins(), isClient),
        inspector: true,
      }),
  }
}

/**
 * Returns the source of the trusted part: an expression for a function that builds the bindings. It contains the
 * bootstrap and each plugin's guest part. A guest part runs again each time its binding is built, so it shares nothing
 * between calls.
 */
function trustedSource(
  { bootstrap, guests, rehearsal, ...trusted }: Trusted,
  isClient: boolean,
  limits = JSON.stringify(trusted.limits),
): string {
  const sample = JSON.stringify(callText(rehearsal.call))
  const built = guests.map(
    ({ name, under = null, constants, source }) =>
      `{ name: ${JSON.stringify(name)}, under: ${JSON.stringify(under)}, constants: ${JSON.stringify(constants)}, build: function (api, globalThis) { return ${asFunction(source)}(api) } }`,
  )
  return `${asFunction(bootstrap)}(${limits}, [${built.join(',\n')}], ${sample}, ${isClient})`
}

/** Returns a guest file as an expression: a function that contains the file and returns its default export. */
function asFunction(source: string): string {
  return `(function () { 'use strict'; ${source.replace(/^export default /m, 'return ')}\n})()`
}
