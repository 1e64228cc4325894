import type { Fault, Warning } from './bundle/faults.ts'
import type { CallKind, CallRules, Unit } from './call-kinds.ts'
import type { Failure, GuestCommand, LogLevel, Position } from './outcome.ts'
import type { Json, Tables } from './plugin.ts'

export type { Unit } from './call-kinds.ts'

/**
 * `scope` is the part of the script that scripts can access through `globals` or `scopes`. It is absent if no script
 * uses these globals.
 */
export type SandboxScript = {
  readonly file: string
  readonly source: string
  readonly scope?: ScriptScope
  /** The names for the hardened realm; absent if the solution doesn't have one. */
  readonly realm?: RealmNames
}

/**
 * The names that a script declares for other scripts. `globals` are also properties of the global object. `readsThis`:
 * whether the script's top-level code uses `this`; absent if this is unknown.
 */
export type RealmNames = {
  readonly globals: readonly string[]
  readonly lexicals: readonly string[]
  readonly readsThis?: boolean
}

export type ScriptScope = {
  /** The scope's name: `orders` for `scopes/orders.js`, or `globals` for `globals.js`. */
  readonly name: string
  readonly names: readonly string[]
  /** The names that are also properties of the global object. */
  readonly shared: readonly string[]
  /** Whether the script runs as a function, so that its declarations are not global. */
  readonly isOwn: boolean
}

/**
 * `functions`: the functions that the script declares at its top level. `bound`: those functions whose `this` is the
 * form even if they are called without a receiver.
 */
export type SandboxFormScript = SandboxScript & {
  readonly form: string
  readonly functions: readonly string[]
  readonly bound: readonly string[]
}

/**
 * The parts that every context contains, for any solution. A sandbox process prepares them before it gets a solution.
 */
export type Trusted = {
  /**
   * Sources without types: `runtime/sandbox/guest.ts`, and the plugins' guest parts in the order in which they are
   * built.
   */
  readonly bootstrap: string
  /** The source of `runtime/sandbox/realm.guest.ts`, also without types. */
  readonly realm: string
  readonly guests: readonly {
    readonly name: string
    readonly under?: 'plugins'
    readonly clientsOnly?: true
    readonly onlyIfNamed?: true
    readonly constants: Json
    readonly source: string
  }[]
  readonly limits: Readonly<Record<string, number>>
  /**
   * The plugins' `sharedTables`, by the plugin's and the table's name with a space between them. Each table is a JSON
   * text, because most processes use only one of them or none.
   */
  readonly tables: Readonly<Record<string, string>>
  readonly rehearsal: Rehearsal
}

/**
 * A call to a built-in solution, which compiles the code that every call needs. The first process runs this call before
 * it reports ready; the others run it while they wait for work.
 */
export type Rehearsal = { readonly solution: SandboxSolution; readonly call: SandboxCall }

/** Everything a sandbox process needs for one solution version; its scripts are stripped of types already. */
export type SandboxSolution = {
  /** All scripts, without duplicates. The units refer to them by index. */
  readonly scripts: readonly SandboxScript[]
  readonly units: Readonly<Partial<Record<Unit, readonly number[]>>>
  /** Whether all calls share one context with frozen built-in objects. If not, each call has its own context. */
  readonly isHardened?: true
  readonly settings: Readonly<Record<string, Json>>
  readonly tables: Readonly<Record<string, Tables>>
  /** Needed only by clients; processes that serve logins don't get it. */
  readonly clients?: {
    /** One script per form, loaded after the scripts of `main`. */
    readonly formScripts: readonly SandboxFormScript[]
    readonly settings: Readonly<Record<string, Json>>
    readonly tables: Readonly<Record<string, Tables>>
  }
}

/** The files of an upload that only a sandbox process reads. */
export type UploadFiles = {
  readonly scripts: readonly { readonly module: string | null; readonly file: string; readonly source: string }[]
  readonly formScripts: readonly {
    readonly module: string | null
    readonly form: string
    readonly file: string
    readonly source: string
  }[]
  readonly forms: readonly {
    readonly module: string | null
    readonly form: string
    readonly file: string
    readonly source: string
  }[]
  readonly i18n: readonly {
    readonly module: string | null
    readonly locale: string
    readonly file: string
    readonly source: string
  }[]
  readonly loginTemplate: { readonly file: string; readonly source: string } | null
  /** For the hardened realm. Each item lists scripts that run together, by index. */
  readonly hardened?: readonly (readonly number[])[] | null
  /** The paths of the files in `media/`. */
  readonly media: readonly string[]
  /** The permissions that the manifests list; null if none lists any. */
  readonly permissions: readonly string[] | null
  /** The path of the form that users sign in with; absent if they sign in differently. */
  readonly loginForm?: string | undefined
  readonly isolateMemory: number
}

/** Messages from the host to a sandbox process. */
export type ToSandbox =
  /**
   * The first message; the process responds with `ready` or `unready`. Two frames follow that are not messages: `Trusted`
   * as JSON, and the snapshot that another process created from it, as bytes. If the latter is empty, the process creates a
   * snapshot and sends it with `ready`, in base64. These frames are separate because they are large, and because most processes
   * need no more of `Trusted` than this message has.
   */
  | { readonly kind: 'prepare'; readonly limits: Trusted['limits']; readonly rehearsal: Rehearsal }
  /**
   * Creates the snapshot for clients; the process responds with `clientSnapshot`. Sent before the process receives any
   * files or scripts. They could otherwise influence the snapshot, from which clients of all solutions start.
   */
  | { readonly kind: 'createClientSnapshot' }
  /**
   * Sent instead if another process has created the snapshot. One frame follows that is not a message: the snapshot, as
   * bytes.
   */
  | { readonly kind: 'clientSnapshot' }
  /** `debug`, here and in `serve`: whether the isolates can be debugged. Not every version of Node.js supports this. */
  | { readonly kind: 'load'; readonly solution: SandboxSolution; readonly debug?: true }
  /** Sent instead of `load` if the process serves only clients. */
  | { readonly kind: 'serve'; readonly solution: SandboxSolution; readonly debug?: true }
  /** Creates a client's context. Progress is reported as for a call, with the id `id`. */
  | { readonly kind: 'open'; readonly client: number; readonly id: number }
  /** A client's call; sent only after the client's previous call has ended. */
  | { readonly kind: 'enter'; readonly client: number; readonly id: number; readonly call: SandboxCall }
  /** Closes a client. If it has a running call, that call gets no result. */
  | { readonly kind: 'close'; readonly client: number }
  /** `announce` determines whether the process reports the start with `started`. The report takes time. */
  | { readonly kind: 'call'; readonly id: number; readonly call: SandboxCall; readonly announce: boolean }
  | {
      readonly kind: 'probe'
      readonly id: number
      readonly unit: Unit
      readonly entries: readonly string[]
      /** Whether `main` is loaded as for an endpoint, without forms. */
      readonly isForRequests?: boolean
    }
  | {
      readonly kind: 'answer'
      readonly id: number
      readonly request: number
      readonly ok: boolean
      readonly value: Json
    }
  | { readonly kind: 'check'; readonly files: UploadFiles }
  /** Loads the code for checks before an upload arrives. */
  | { readonly kind: 'getReadyToCheck' }
  /** Drops a call that has not started; the process still sends `ended` for it. */
  | { readonly kind: 'cancel'; readonly id: number }
  /** A heartbeat; a process that hangs can't respond to it. */
  | { readonly kind: 'ping' }
  /**
   * Opens a debugger session with the isolate of a unit. Like the next two messages, it is sent only after a `load` or
   * `serve` with `debug`.
   */
  | { readonly kind: 'attach'; readonly session: number; readonly unit: Unit }
  /** A Chrome DevTools protocol message, as the debugger sent it. */
  | { readonly kind: 'inspect'; readonly session: number; readonly message: string }
  | { readonly kind: 'detach'; readonly session: number }

export type SandboxCall = {
  readonly unit: Unit
  readonly entry: string
  readonly args: readonly Json[]
  readonly state: Readonly<Record<string, Json>>
  /** The limit for the call's time, including waiting. Loading the scripts has a separate limit. */
  readonly timeLimit: CallRules['timeLimit']
  /** Determines the processes, the result and the bindings of a call outside clients. Default: as for a sign-in. */
  readonly kind?: CallKind
}

/** A call's result, as a sandbox process reports it. */
export type SandboxOutcome =
  | {
      readonly ok: true
      readonly result: string | null
      readonly odd?: string
      readonly commands: readonly GuestCommand[]
      /** The ids of the requests whose response the call did not wait for; absent if there are none. */
      readonly unanswered?: readonly number[]
      readonly milliseconds: number
    }
  | {
      readonly ok: false
      readonly code: Failure
      readonly message: string
      readonly position?: Position
      readonly limit?: { readonly name: string; readonly allowed: number; readonly used?: number }
      /** Whether the call was interrupted while its code ran, rather than while it waited for a response. */
      readonly cutOff?: boolean
      readonly milliseconds: number
    }

/**
 * Messages from a sandbox process to the host. The host checks each one, because the process may run malicious code.
 */
export type FromSandbox =
  | { readonly kind: 'ready'; readonly snapshot?: string }
  /** The snapshot is in base64, as in `ready`. It is absent if it can't be created. */
  | { readonly kind: 'clientSnapshot'; readonly snapshot?: string }
  /** The code that every context contains can't be built, because an operator's plugin is invalid. */
  | { readonly kind: 'unready'; readonly message: string }
  | { readonly kind: 'pong' }
  | { readonly kind: 'loaded'; readonly faults: readonly Fault[] }
  | { readonly kind: 'started'; readonly id: number }
  | { readonly kind: 'ended'; readonly id: number; readonly outcome: SandboxOutcome }
  /**
   * Sent after a successful call, when the context for the next call exists. By then, none of the solution's code is
   * running. The next call's `started` message implies the same.
   */
  | { readonly kind: 'settled' }
  /** The clients' isolate has ended, so the clients have ended too. */
  | { readonly kind: 'gone'; readonly clients: readonly number[] }
  /** A step of a client's call has exceeded its time and cannot be interrupted. */
  | { readonly kind: 'hung'; readonly id: number }
  /** Sent while scripts are probed. If the process crashes, the host can tell which file was running. */
  | { readonly kind: 'loading'; readonly file: string }
  | {
      readonly kind: 'probed'
      readonly id: number
      readonly faults: readonly Fault[]
      readonly found: readonly string[]
    }
  | {
      readonly kind: 'log'
      readonly id: number
      readonly level: LogLevel
      readonly message: string
      readonly position?: Position
    }
  | {
      readonly kind: 'request'
      readonly id: number
      readonly request: number
      readonly plugin: string
      readonly method: string
      readonly args: readonly Json[]
    }
  | { readonly kind: 'checked'; readonly checked: CheckedFiles }
  /** A Chrome DevTools protocol message for the debugger. */
  | { readonly kind: 'inspected'; readonly session: number; readonly message: string }
  /** Sent when the isolate that the session debugs has ended. */
  | { readonly kind: 'detached'; readonly session: number }

/** The results of checking an upload's files in a sandbox process, before any of them ran. */
export type CheckedFiles = {
  readonly faults: readonly Fault[]
  readonly warnings: readonly Warning[]
  /** The scripts in their original order, with types replaced by white space to preserve positions. */
  readonly scripts: readonly string[]
  /** One entry per script. The names are omitted if no script uses `globals` or `scopes`. */
  readonly scopes: readonly ScriptScope[]
  /** One entry per script; absent unless the solution has the hardened realm. */
  readonly realmNames?: readonly RealmNames[]
  readonly formScripts: readonly string[]
  /** The functions that each form script declares at its top level. */
  readonly formFunctions: readonly { readonly names: readonly string[]; readonly bound: readonly string[] }[]
  /** A `FormDefinition` per form; null for a form with an error. */
  readonly forms: readonly unknown[]
  readonly i18n: readonly Readonly<Record<string, string>>[]
  readonly template: unknown
}
