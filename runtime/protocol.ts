import type { Fault, Warning } from './bundle/faults.ts'
import type { Failure, GuestCommand, LogLevel, Position } from './outcome.ts'
import type { Json, Tables } from './plugin.ts'

/** Which scripts a context holds (design 4, "Scope"). */
export type Unit = 'authenticator' | 'main' | 'configuration'

/** `scope`: what `globals` or `scopes` has of it, if scripts ask for that. */
export type SandboxScript = { readonly file: string; readonly source: string; readonly scope?: ScriptScope }

export type ScriptScope = {
  /** `orders` of `scopes/orders.js`; `globals` of `globals.js`. */
  readonly name: string
  readonly names: readonly string[]
  /** Those that are to be members of the global object as well. */
  readonly shared: readonly string[]
  /** Whether the script runs as a function, so that what it declares is not global. */
  readonly isOwn: boolean
}

/** `functions`: those that it declares at its top level. `bound`: those of them whose `this` is the form in a plain call too. */
export type SandboxFormScript = SandboxScript & {
  readonly form: string
  readonly functions: readonly string[]
  readonly bound: readonly string[]
}

/** What every context holds, whatever the solution: a sandbox process makes it ready before it has one. */
export type Trusted = {
  /** Sources, stripped of types: `runtime/sandbox/guest.ts`, and the plugins' guest parts in the order of building. */
  readonly bootstrap: string
  readonly guests: readonly {
    readonly name: string
    readonly under?: 'plugins'
    readonly clientsOnly?: true
    readonly source: string
  }[]
  readonly limits: Readonly<Record<string, number>>
  readonly rehearsal: Rehearsal
}

/** A call of a solution of our own: with it a process compiles what every call needs before it says that it is ready. */
export type Rehearsal = { readonly solution: SandboxSolution; readonly call: SandboxCall }

/** Everything a sandbox process needs of one solution version; its scripts are stripped of types already. */
export type SandboxSolution = {
  /** Each script once; the units name them by index. */
  readonly scripts: readonly SandboxScript[]
  readonly units: Readonly<Partial<Record<Unit, readonly number[]>>>
  readonly settings: Readonly<Record<string, Json>>
  readonly tables: Readonly<Record<string, Tables>>
  /** What only clients need; processes that serve logins do not get it. */
  readonly clients?: {
    /** One a form, loaded after the scripts of `main`. */
    readonly formScripts: readonly SandboxFormScript[]
    readonly settings: Readonly<Record<string, Json>>
    readonly tables: Readonly<Record<string, Tables>>
  }
}

/** The files of an upload that are looked into only in a sandbox process. */
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
  /** Paths below `media/`. */
  readonly media: readonly string[]
  /** Those that the manifests list; null where none lists any. */
  readonly permissions: readonly string[] | null
  readonly isolateMemory: number
}

/** From the host to a sandbox process. */
export type ToSandbox =
  /** The first message; answered by `ready` or `unready`. */
  | { readonly kind: 'prepare'; readonly trusted: Trusted }
  /** `debug`, here and in `serve`: its isolates can be debugged, which the Node.js of the process must bear. */
  | { readonly kind: 'load'; readonly solution: SandboxSolution; readonly debug?: true }
  /** In place of `load`: the process is to serve clients, and no other calls. */
  | { readonly kind: 'serve'; readonly solution: SandboxSolution; readonly debug?: true }
  /** Makes a client's context; its progress is told as that of the call `id`. */
  | { readonly kind: 'open'; readonly client: number; readonly id: number }
  /** A call of a client; only when its last one has ended. */
  | { readonly kind: 'enter'; readonly client: number; readonly id: number; readonly call: SandboxCall }
  /** Its call, if one runs, is not answered any more. */
  | { readonly kind: 'close'; readonly client: number }
  /** `announce`: whether its start is to be told by `started`, which takes time. */
  | { readonly kind: 'call'; readonly id: number; readonly call: SandboxCall; readonly announce: boolean }
  | { readonly kind: 'probe'; readonly id: number; readonly unit: Unit; readonly entries: readonly string[] }
  | {
      readonly kind: 'answer'
      readonly id: number
      readonly request: number
      readonly ok: boolean
      readonly value: Json
    }
  | { readonly kind: 'check'; readonly files: UploadFiles }
  /** What checks need is loaded before there is one. */
  | { readonly kind: 'getReadyToCheck' }
  /** Forgets a call that has not started; it is answered by `ended` all the same. */
  | { readonly kind: 'cancel'; readonly id: number }
  /** A sign of life is asked for; a process that hangs cannot give it. */
  | { readonly kind: 'ping' }
  /** Opens a session of a debugger with the isolate of a unit. Only after `debug`, as the two below. */
  | { readonly kind: 'attach'; readonly session: number; readonly unit: Unit }
  /** A message of the Chrome DevTools protocol, as the debugger wrote it. */
  | { readonly kind: 'inspect'; readonly session: number; readonly message: string }
  | { readonly kind: 'detach'; readonly session: number }

export type SandboxCall = {
  readonly unit: Unit
  readonly entry: string
  readonly args: readonly Json[]
  readonly state: Readonly<Record<string, Json>>
  /** The limit of the call itself, waiting included; loading the scripts has a limit of its own. */
  readonly timeLimit: 'CALL_TIME' | 'AUTHENTICATOR_TIME'
}

/** How a call ended inside the sandbox process. */
export type SandboxOutcome =
  | {
      readonly ok: true
      readonly result: string | null
      readonly odd?: string
      readonly commands: readonly GuestCommand[]
      readonly milliseconds: number
    }
  | {
      readonly ok: false
      readonly code: Failure
      readonly message: string
      readonly position?: Position
      readonly limit?: { readonly name: string; readonly allowed: number; readonly used?: number }
      /** It was stopped while it ran, not while it waited for an answer. */
      readonly cutOff?: boolean
      readonly milliseconds: number
    }

/** From a sandbox process to the host. The host checks each with a schema: the process runs hostile code. */
export type FromSandbox =
  | { readonly kind: 'ready' }
  /** The trusted part cannot be built: a plugin of the operator is at fault. */
  | { readonly kind: 'unready'; readonly message: string }
  | { readonly kind: 'pong' }
  | { readonly kind: 'loaded'; readonly faults: readonly Fault[] }
  | { readonly kind: 'started'; readonly id: number }
  | { readonly kind: 'ended'; readonly id: number; readonly outcome: SandboxOutcome }
  /**
   * After a call that returned well: the context for the next one is made, so nothing of the solution runs any more.
   * `started` of the next call says the same.
   */
  | { readonly kind: 'settled' }
  /** The isolate of these clients has ended, and they with it. */
  | { readonly kind: 'gone'; readonly clients: readonly number[] }
  /** A step of the call of a client is over its time and cannot be interrupted. */
  | { readonly kind: 'hung'; readonly id: number }
  /** While scripts are probed: the file whose top level runs now, should the process not live to say more. */
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
  /** A message of the Chrome DevTools protocol for the debugger. */
  | { readonly kind: 'inspected'; readonly session: number; readonly message: string }
  /** The isolate of the session has ended. */
  | { readonly kind: 'detached'; readonly session: number }

/** What a sandbox process found in the files of an upload, before anything of it was run. */
export type CheckedFiles = {
  readonly faults: readonly Fault[]
  readonly warnings: readonly Warning[]
  /** The scripts in the order they came, with types replaced by white space, so that positions stay true. */
  readonly scripts: readonly string[]
  /** By script; without names where no script asks for `globals` or `scopes`. */
  readonly scopes: readonly ScriptScope[]
  readonly formScripts: readonly string[]
  /** The functions that each form script declares at its top level. */
  readonly formFunctions: readonly { readonly names: readonly string[]; readonly bound: readonly string[] }[]
  /** A `FormDefinition` for each form, null for one that has a fault. */
  readonly forms: readonly unknown[]
  readonly i18n: readonly Readonly<Record<string, string>>[]
  readonly template: unknown
}
