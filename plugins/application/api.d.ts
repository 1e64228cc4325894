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
  getSolutionName(): string
  getSolutionVersion(): string
  /** The solution's address, such as "https://hello.apps.example.org"; null while scripts load. */
  getServerURL(): string | null
  /** A random UUID. */
  getUUID(): string
  /** none, onprem, dev, uat, preprod, prod, demo or e2e. */
  getEnvironment(): string
}
