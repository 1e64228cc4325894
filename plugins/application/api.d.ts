/** The running solution and its surroundings. */
declare const application: {
  /** Writes a line into the solution's log, with the position of the call. */
  output(message: unknown, level?: 'debug' | 'info' | 'warning' | 'error'): void
  /**
   * Sends the browser to an http, https or mailto address or to a path of the same server.
   * In a login it goes there instead of the page that would follow.
   * @throws TypeError for any other address
   */
  showURL(url: string, target?: string): void
  /** Shows a form of the solution. @throws TypeError when there is no such form */
  showForm(form: string): void
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
  /** A random UUID (version 4). */
  getUUID(): string
  /** What the operator set as `ENVIRONMENT`: none, onprem, dev, uat, preprod, prod, demo or e2e. */
  getEnvironment(): string
}
