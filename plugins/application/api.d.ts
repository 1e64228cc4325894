/** The running solution and its surroundings. */
declare const application: {
  /** Writes a line into the solution's log, with the position of the call. `level`: a name, or a constant of `LOGGINGLEVEL`. */
  output(message: unknown, level?: 'debug' | 'info' | 'warning' | 'error' | 0 | 1 | 2 | 3 | 4): void
  /**
   * Sends the browser to an http, https or mailto address or to a path of the same server.
   * In a login it goes there instead of the page that would follow.
   * @throws TypeError for any other address
   */
  showURL(url: string, target?: string): void
  /** Shows a form of the solution. @throws TypeError when there is no such form */
  showForm(form: string): void
  /**
   * Ends the client, with `onUnload` of its forms and `onSolutionClose`; the user stays signed in. The browser goes to `solution`, whose
   * `onSolutionOpen` gets `argument`; without a name, or if there is no such solution, this one is opened again.
   * @param method has no effect, and a warning in the log: a solution can't call functions of another one
   * @throws TypeError in a login
   */
  closeSolution(solution?: string | null, method?: string | null, argument?: string | null): void
  /**
   * Calls a function once, after so many milliseconds (0 to 3,600,000), as a call of its own; only in an open client, and
   * not if that is closed or opened anew meanwhile. It comes to nothing if the call that asked for it fails.
   * @param args what the function is called with
   * @returns a number for `cancelLater`
   * @throws TypeError in a login, and for other arguments; RangeError when 100 functions wait already
   */
  executeLater(callback: (...args: any[]) => unknown, milliseconds: number, args?: readonly unknown[] | null): number
  /** Takes back what `executeLater` asked for. @returns whether the function was still to be called. @throws TypeError in a login */
  cancelLater(id: number): boolean
  /** The `name` of the main solution’s manifest. */
  getSolutionName(): string
  /** The `version` of the main solution’s manifest; an open client keeps the one that it was opened with. */
  getSolutionVersion(): string
  /** The solution's address, such as "https://hello.apps.example.org"; null while scripts load. */
  getServerURL(): string | null
  /** The version of Solhost, such as "0.1.0". */
  getVersion(): string
  /** A random UUID (version 4). */
  getUUID(): string
  /** What the operator set as `ENVIRONMENT`: none, onprem, dev, uat, preprod, prod, demo or e2e. */
  getEnvironment(): string
}

/** Levels of `application.output` as numbers. `FATAL` is written as `error`. */
declare const LOGGINGLEVEL: {
  /** As "debug". */
  readonly DEBUG: 0
  /** As "info". */
  readonly INFO: 1
  /** As "warning". */
  readonly WARNING: 2
  /** As "error". */
  readonly ERROR: 3
  /** As "error". */
  readonly FATAL: 4
}

/** The global object: `globals.x` is what `globals.js` declares as `x`. */
declare const globals: typeof globalThis & Record<string, any>

/** What each script in `scopes/` declares: `scopes.orders.x` is what `scopes/orders.js` declares as `x`. */
declare const scopes: Record<string, any>
