import type { Offers } from './guest-api.d.ts'

/** The only function of the sandbox process that a context can call. `false`: the message could not be handled. */
export type Host = (
  context: number,
  kind: 'log' | 'look' | 'uuid' | 'address' | 'request' | 'done' | 'random',
  text: string,
  key?: string,
) => string | null | false
/** A function that finds an entry function by name, in the scope of the scripts. */
export type FindEntry = () => unknown
/**
 * `findEntry` is passed only with the first call of each entry function. It is not needed for the entry function that
 * the context was started for.
 */
export type Enter = (text: string, findEntry?: FindEntry) => string
export type Start = (host: Host, context: number, settings: string, findEntry?: FindEntry) => Enter
/**
 * The bindings to build; if this is absent, all bindings are built. `plugins` has one entry per plugin, in the plugins'
 * order.
 */
export type Needs = { readonly console: boolean; readonly plugins: readonly boolean[] }
/** Builds the bindings as properties of `globals`. */
export type CreateBindings = (globals: object, needs?: Needs) => Start
export type ScriptText = { kind: 'script'; name: string }
/**
 * Sent with an object that has an accessor for each top-level name in the script. `shared`: the names that also become
 * globals.
 */
export type ScopeText = { kind: 'scope'; name: string; shared: string[] }
export type CallText = {
  kind: 'call'
  entry: string
  args: unknown[]
  state: Record<string, unknown>
  /**
   * Only in clients: the number of this call, and the number of the last call that the process accepted as successful.
   */
  number?: number
  counted?: number
  /**
   * Only in calls to endpoints and jobs: whether the result is JSON, its size limit, and the bindings that throw an
   * error when used.
   */
  returnsJson?: true
  resultLimit?: string
  refuses?: string[]
}
export type AnswerText = { kind: 'answer'; id: number; ok: boolean; value: unknown }
/** Sent when the call has ended, if other calls share the context. After this, the call's bindings throw an error. */
export type EndText = { kind: 'end' }
/** A plugin's name, the path that scripts use to access its binding, such as `plugins.database`, and its constants. */
export type Binding = { readonly name: string; readonly path: string; readonly constants: unknown }
export type Thrown = { name: string; message: string; stack: string; quota: Quota | null }
export type Quota = { limit: string; allowed: number; used: number }

export type Limits = Record<string, number>

/** The state shared by the files of the trusted part in a context. */
export type ContextState = {
  /** Sends this context's messages to the sandbox process; does nothing before the context is started. */
  host: (kind: Parameters<Host>[1], text: string, key?: string) => string | null
  findEntry: FindEntry
  running: boolean
  /** The running call; between calls, the last one. */
  message: CallText
}

/** The functions that plugins' guest parts have registered. */
export type Hooks = {
  readonly loadStarts: ((settings: Record<string, unknown>) => void)[]
  readonly callStarts: ((lastCounted: boolean) => void)[]
  /**
   * The platform's own entry functions, by name. No script function can have such a name, for example `forms.event`.
   */
  readonly entries: Record<string, () => unknown>
  readonly offers: Partial<Offers>
  beforeReturn: (() => Promise<void> | null) | null
  /** Returns the JSON text of a value that a binding created as the result of a call; null for any other value. */
  readResult: ((value: unknown) => string | null) | null
  runScript: ((name: string, run: () => unknown) => void) | null
}
