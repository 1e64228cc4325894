import type { Manifest } from './bundle/manifest.ts'
import type { FormDefinition } from './forms/form-definition.ts'
import type { z } from './zod.ts'

/** What plugins may know of the solution version that a call belongs to. */
export type SolutionFacts = {
  readonly name: string
  readonly version: string
  readonly sha256: string
  readonly manifest: Manifest
  /** The reachable modules in their order: the later one wins. */
  readonly modules: readonly { readonly name: string; readonly manifest: Manifest }[]
  /** Texts by locale (`default`, `nl`, `nl-BE`), those of main and its modules together. */
  readonly texts: Tables
  /** The names of its forms. */
  readonly forms: readonly string[]
  /** The forms of main and its modules by name, without those of authenticators: what a client has. */
  readonly definitions: ReadonlyMap<string, FormDefinition>
}

/**
 * `login`: an authenticator is asked for one login attempt. `open`: the main solution opens for a page or client.
 * `configuration`: `getOAuthConfig` is asked for settings; its commands come to nothing.
 * A call is also the key under which the host keeps what the call's commands came to.
 */
export interface Call {
  readonly kind: 'login' | 'open' | 'configuration'
  readonly solution: SolutionFacts
  /** The id that the end user is shown and that stands in the solution's log. */
  readonly correlationId: string
}

/** Plain data that crosses the isolate's border as text. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** An effect that a guest asked for: checked once more in the host, and applied only after the call returned well. */
export type Command = {
  /** Whether it also counts when a login attempt ended without an accepted login. */
  readonly withoutLogin: boolean
  /** Whether it logs a user in or out: such commands are applied before the others, since those depend on it. */
  readonly decidesLogin: boolean
  /** @throws ZodError when the arguments are not what the binding sends. */
  readonly check: (args: unknown, solution: SolutionFacts) => unknown
  /**
   * Called once per command, in the order of the script, after every command of the call was checked. A method, so that each
   * command can name the type of `args`, which is what its `check` returned.
   */
  apply(call: Call, args: unknown): void
}

/** A question that a guest waits for, such as a query. */
export type Request = {
  readonly check: (args: unknown) => unknown
  /** Whether it can change something: a call that made such a request is never replayed. */
  readonly changes: boolean
  /**
   * @returns plain data; an error that it throws reaches the script as an Error with the text "name.method failed", a
   *   `ScriptError` with its own message
   * @param args what `check` returned; see `Command.apply`
   */
  answer(call: Call, args: unknown): Promise<Json> | Json
}

/** Adds one global, such as `security`, to the code of a solution. */
export interface Plugin {
  /** The global's name inside the sandbox. No two plugins share one, wherever their bindings are. */
  readonly name: string
  /** `plugins`: the binding is no global of its own but a property of the frozen global `plugins`. */
  readonly under?: 'plugins'
  /** It is only there in clients, and costs other calls nothing. */
  readonly clientsOnly?: true
  /**
   * Source that runs inside the sandbox and builds the global. It imports types, and values from guest files beside it only:
   * `import { a } from './part.guest.ts'`. `guest-source.ts` joins them.
   */
  readonly guest: URL
  /** Effects, by method. Checked again here, applied in order, and only after the entry function returned well. */
  readonly commands: Readonly<Record<string, Command>>
  /** Questions, by method. Answered while the script waits on its Promise; the answer is plain JSON. */
  readonly requests?: Readonly<Record<string, Request>>
  /** Data for the guest part that are the same for the whole version. Asked for once when a version is loaded. */
  readonly settings?: (solution: SolutionFacts) => Json
  /**
   * Texts that the guest part looks up by table and key without their being copied into each context.
   * Asked for once when a version is loaded.
   */
  readonly tables?: (solution: SolutionFacts) => Tables
  /** Data for the guest part that belong to one call. Asked for at each call. */
  readonly state?: (call: Call) => Json
}

/** How much of a `ScriptError`'s message reaches the script, in characters. */
const SCRIPT_TEXT = 2000

/**
 * What a request throws to tell the script's author what to do: the message reaches the script as the text of an Error,
 * and no log of the operator. It must hold nothing that the solution may not know.
 */
export class ScriptError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message.length > SCRIPT_TEXT ? `${message.slice(0, SCRIPT_TEXT)}…` : message, options)
    this.name = 'ScriptError'
  }
}

export type Tables = Readonly<Record<string, Readonly<Record<string, string>>>>

/** A command whose arguments `schema` describes (an array, one entry for each argument). */
export function command<T>(
  schema: z.ZodType<T>,
  apply: (call: Call, args: T) => void,
  options: { readonly withoutLogin?: boolean; readonly decidesLogin?: boolean } = {},
): Command {
  const { withoutLogin = false, decidesLogin = false } = options
  return { withoutLogin, decidesLogin, check: (args) => schema.parse(args), apply }
}

/** A request whose arguments `schema` describes (an array, one entry for each argument). */
export function request<T>(
  schema: z.ZodType<T>,
  answer: (call: Call, args: T) => Promise<Json> | Json,
  options: { readonly changes?: boolean } = {},
): Request {
  return { changes: options.changes ?? true, check: (args) => schema.parse(args), answer }
}
