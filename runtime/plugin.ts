import type { Manifest } from './bundle/manifest.ts'
import type { CallKind } from './call-kinds.ts'
import type { FormDefinition } from './forms/form-definition.ts'
import type { z } from './zod.ts'

/** The data that plugins get about a call's solution version. */
export type SolutionFacts = {
  readonly name: string
  readonly version: string
  readonly sha256: string
  readonly manifest: Manifest
  /** The reachable modules. Later modules override earlier ones. */
  readonly modules: readonly { readonly name: string; readonly manifest: Manifest }[]
  /** The texts of main and its modules combined, by locale (`default`, `nl`, `nl-BE`). */
  readonly texts: Tables
  readonly forms: readonly string[]
  /** The forms that clients can use: those of main and its modules, except authenticators. Keyed by name. */
  readonly definitions: ReadonlyMap<string, FormDefinition>
}

/** The host also uses the call object as a key to store the results of the call's commands. */
export interface Call {
  readonly kind: CallKind
  readonly solution: SolutionFacts
  /** The id shown to the end user and written to the solution's log. */
  readonly correlationId: string
}

/** Plain data that crosses the isolate boundary as text. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** An effect that a guest requested. It is checked again in the host, and applied only after the call succeeded. */
export type Command = {
  /** Whether the command also applies if a login attempt ended without an accepted login. */
  readonly withoutLogin: boolean
  /**
   * Whether the command logs a user in or out. Such commands are applied first, because the other commands depend on
   * the result.
   */
  readonly decidesLogin: boolean
  /** @throws ZodError if the arguments are not ones that the binding can send */
  readonly check: (args: unknown, solution: SolutionFacts) => unknown
  /**
   * Called once per command, in script order, after all commands of the call were checked. `args` is what `check`
   * returned. This is a method, so each command can declare its own type for `args`.
   */
  apply(call: Call, args: unknown): void
}

/** A request whose response a guest awaits, such as a query. */
export type Request = {
  readonly check: (args: unknown) => unknown
  /** Whether the request can change something. A call that made such a request is never retried. */
  readonly changes: boolean
  /**
   * @returns plain data. If it throws, the script gets an Error with the text "name.method failed" or, for a
   * `ScriptError`, with its own message.
   * @param args the return value of `check`; see `Command.apply`
   */
  answer(call: Call, args: unknown): Promise<Json> | Json
}

/** Adds one global, such as `security`, to a solution's code. */
export interface Plugin {
  /**
   * The global's name inside the sandbox. Must be unique among all plugins, even if their bindings are at different
   * paths.
   */
  readonly name: string
  /** If `plugins`, the binding is a property of the frozen global `plugins` instead of a global. */
  readonly under?: 'plugins'
  /** Whether the global exists only in clients. It then adds no cost to other calls. */
  readonly clientsOnly?: true
  /**
   * Whether the guest part may be skipped for calls whose scripts contain none of its global names. If this is set, the
   * guest part must not register an entry, `beforeReturn` or `onScript`.
   */
  readonly onlyIfNamed?: true
  /**
   * Source that runs inside the sandbox and builds the global. It may import types from anywhere, but values only from
   * guest files in the same folder: `import { a } from './part.guest.ts'`. `guest-source.ts` joins the files.
   */
  readonly guest: URL
  /**
   * Effects by method. The host checks them again and applies them in order, only after the entry function succeeded.
   */
  readonly commands: Readonly<Record<string, Command>>
  /** Requests by method. The script awaits the response, which is plain JSON. */
  readonly requests?: Readonly<Record<string, Request>>
  /** Data for the guest part that never changes. Contexts start with it, so it costs nothing when a context loads. */
  readonly constants?: Json
  /** Data for the guest part that is the same for the whole version. Called once when a version is loaded. */
  readonly settings?: (solution: SolutionFacts) => Json
  /**
   * Texts that the guest part looks up by table and key, so they are not copied into each context. Called once when a
   * version is loaded.
   */
  readonly tables?: (solution: SolutionFacts) => Tables
  /** Tables that are the same for all solutions. A version's own table with the same name is used instead. */
  readonly sharedTables?: Tables
  /** Data for the guest part that is specific to one call. Called for each call. */
  readonly state?: (call: Call) => Json
}

/** Maximum length of a `ScriptError`'s message in the script, in characters. */
const SCRIPT_TEXT = 2000

/**
 * Thrown by a request to tell the script's author what to do. The script gets an Error with the message, which is not
 * written to the operator's log. It must not contain anything that must be kept secret from the solution.
 */
export class ScriptError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message.length > SCRIPT_TEXT ? `${message.slice(0, SCRIPT_TEXT)}…` : message, options)
    this.name = 'ScriptError'
  }
}

export type Tables = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Defines a command. `schema` describes its arguments (an array, one entry for each argument). */
export function command<T>(
  schema: z.ZodType<T>,
  apply: (call: Call, args: T) => void,
  options: { readonly withoutLogin?: boolean; readonly decidesLogin?: boolean } = {},
): Command {
  const { withoutLogin = false, decidesLogin = false } = options
  return { withoutLogin, decidesLogin, check: (args) => schema.parse(args), apply }
}

/** Defines a request. `schema` describes its arguments (an array, one entry for each argument). */
export function request<T>(
  schema: z.ZodType<T>,
  answer: (call: Call, args: T) => Promise<Json> | Json,
  options: { readonly changes?: boolean } = {},
): Request {
  return { changes: options.changes ?? true, check: (args) => schema.parse(args), answer }
}
