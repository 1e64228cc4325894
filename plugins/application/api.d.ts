/** The running solution and its environment. */
declare const application: {
  /** Writes a line to the solution's log, with the position of the call. `level` is a name or a constant of `LOGGINGLEVEL`. */
  output(message: unknown, level?: 'debug' | 'info' | 'warning' | 'error' | 0 | 1 | 2 | 3 | 4): void
  /**
   * Sends the browser to an http, https or mailto URL, or to a path on the same server. During a sign-in, the browser
   * goes there instead of to the requested page.
   * @throws TypeError for any other URL
   */
  showURL(url: string, target?: string): void
  /** Shows one of the solution's forms. @throws TypeError if the form does not exist */
  showForm(form: string): void
  /**
   * Closes the client, after its forms' `onUnload` and `onSolutionClose` have run. The user stays signed in. The
   * browser then opens `solution`, and its `onSolutionOpen` gets `argument`. Without a name, or if that solution does
   * not exist, the browser opens this solution again.
   * @param method has no effect except a warning in the log, because a solution can't call another solution's functions
   * @throws TypeError during a sign-in
   */
  closeSolution(solution?: string | null, method?: string | null, argument?: string | null): void
  /**
   * Calls a function once as a separate call, after 0 to 3,600,000 milliseconds. Works only in an open client. The
   * function is not called if the client closes or is reopened first, or if the call that scheduled it fails.
   * @param args the function's arguments
   * @returns an id for `cancelLater`
   * @throws TypeError during a sign-in, and for invalid arguments; RangeError if 100 functions are already scheduled
   */
  executeLater(callback: (...args: any[]) => unknown, milliseconds: number, args?: readonly unknown[] | null): number
  /**
   * Cancels a call scheduled with `executeLater`.
   * @returns whether it was still scheduled
   * @throws TypeError during a sign-in
   */
  cancelLater(id: number): boolean
  /** The `name` of the main solution’s manifest. */
  getSolutionName(): string
  /** The `version` of the main solution’s manifest. An open client keeps the version it was opened with. */
  getSolutionVersion(): string
  /** The solution's URL, such as "https://hello.apps.example.org". null while scripts load. */
  getServerURL(): string | null
  /** The version of Solhost, such as "0.1.0". */
  getVersion(): string
  /** A random UUID (version 4). */
  getUUID(): string
  /** The operator's setting `ENVIRONMENT`: none, onprem, dev, uat, preprod, prod, demo or e2e. */
  getEnvironment(): string
}

/** Levels of `application.output` as numbers. `FATAL` is written as `error`. */
declare const LOGGINGLEVEL: {
  /** Same as "debug". */
  readonly DEBUG: 0
  /** Same as "info". */
  readonly INFO: 1
  /** Same as "warning". */
  readonly WARNING: 2
  /** Same as "error". */
  readonly ERROR: 3
  /** Same as "error". */
  readonly FATAL: 4
}

/** The global object. `globals.x` is the `x` that `globals.js` declares. */
declare const globals: typeof globalThis & Record<string, any>

/** The declarations of each script in `scopes/`. `scopes.orders.x` is the `x` that `scopes/orders.js` declares. */
declare const scopes: Record<string, any>
