// Types for a solution's tests. Start a test file with "/// <reference path="./.solhost/test.d.ts" />". Created by
// "solhost init" and "solhost types", updated by "solhost check". Changes made here are lost.

/**
 * Declares a test. For each test, the whole file runs again with fresh globals, on a platform that no other test uses.
 */
declare function test(name: string, run: () => unknown): void

/** Throws unless `value` is truthy. */
declare const assert: {
  (value: unknown, message?: string): void
  /** Compares two values deeply. Throws if they differ. */
  equal(received: unknown, expected: unknown, message?: string): void
  notEqual(received: unknown, other: unknown, message?: string): void
  match(received: string, pattern: RegExp | string, message?: string): void
  /** Calls the function. @returns the error it threw */
  throws(run: () => unknown, pattern?: RegExp | string): Error
  /** Waits for the Promise. @returns the error it rejected with */
  rejects(promise: Promise<unknown>, pattern?: RegExp | string): Promise<Error>
}

/** The solution that the test file belongs to. It runs as it would on a host. */
declare const solution: {
  readonly name: string
  readonly version: string
  /**
   * Calls the authenticator as the login page does: runs its `onSolutionOpen` in a new context. `argument` becomes its `arg`.
   * Rejects if the script fails.
   */
  signIn(queryParams?: TestQueryParams): Promise<TestSignIn>
  /** Calls the solution's `getOAuthConfig` with these query parameters. */
  getOAuthConfig(queryParams?: Readonly<Record<string, string>>): Promise<TestOAuthConfig>
  /**
   * Calls an endpoint's function as if a request had arrived: `solution.request('POST /orders', { body: { sku: 'a' }
   * })`. The path may have a query. Without `user`, `token` or `signed`, only endpoints with the authentication `none`
   * respond. Rejects if the script fails.
   */
  request(address: string, request?: TestRequest): Promise<TestResponse>
  /** Runs one attempt of a job. `data` becomes the job's `job.data`. Rejects if the script fails. */
  runJob(name: string, data?: unknown, run?: TestJobRun): Promise<TestJobDone>
  /** The runs that scripts have queued so far, in order. They do not start automatically: call `runJob`. */
  enqueued(): Promise<readonly TestQueuedRun[]>
  /** Opens the solution in a simulated browser. */
  open(options?: TestOpening): Promise<TestClient>
  /** Adds a user to the platform's users table, which scripts can then query. */
  addUser(user: { username: string; password?: string; permissions?: readonly string[]; email?: string }): Promise<{
    uid: string
  }>
  /**
   * Sets the response to `plugins.http.fetch` for this URL. No request leaves the machine; a request without a declared
   * response fails.
   */
  answerHttp(url: string, answer: TestHttpAnswer): Promise<void>
  /** The requests that `plugins.http.fetch` has made so far. */
  httpRequests(): Promise<readonly TestHttpRequest[]>
}

/** The job's input in addition to its data. Members you omit have the values of a run that a script queued. */
interface TestJobRun {
  readonly attempt?: number
  readonly scheduledFor?: number | null
  readonly missed?: number
  readonly tenant?: readonly (string | number)[]
}

interface TestJobDone extends TestDone {
  /** The function's result, as JSON; null if it returned nothing. */
  readonly result: any
}

interface TestQueuedRun {
  /** The job's name. */
  readonly name: string
  readonly data: any
  readonly key: string | null
  readonly after: number | null
  readonly at: number | null
}

interface TestQueryParams {
  readonly username?: string
  readonly password?: string
  readonly argument?: string
  /**
   * Simulates a remembered user who returns. As on a host, the script gets no password, only the members that the host
   * passes. Members you omit have the values of an ordinary sign-in. `tenant` and `locale` are restored unless the
   * script sets them. If users sign in with a provider, further members are the provider's claims, and a sign-in
   * without `uid` is the user's first.
   */
  readonly last_login?: {
    readonly last_login?: number
    readonly uid?: string
    readonly username?: string
    readonly permissions?: readonly string[]
    readonly tenant?: readonly (string | number)[] | null
    readonly locale?: string | null
    readonly [claim: string]: unknown
  }
  readonly [name: string]: unknown
}

/** What a script did during a call. */
interface TestDone {
  /** The commands it issued, in order, such as `{ name: 'security.login', args: ['anna', '1', ['Users']] }`. */
  readonly commands: readonly { readonly name: string; readonly args: readonly any[] }[]
  /** The lines it wrote to the solution's log. */
  readonly log: readonly TestLogLine[]
  /** The duration of the call. */
  readonly milliseconds: number
}

interface TestLogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly code?: string
  readonly file?: string
  readonly line?: number
  readonly column?: number
}

interface TestLogin {
  readonly username: string
  readonly uid: string
  readonly permissions: readonly string[]
}

interface TestSignIn extends TestDone {
  /** null if no user was signed in. */
  readonly login: TestLogin | null
  /** The object that `onSolutionOpen` returned as JSON, for the placeholders of the login page. null if it returned none. */
  readonly result: Readonly<Record<string, any>> | null
  /** The values set with `security.setTenantValue` or, for a remembered user, the values from the original sign-in. */
  readonly tenant: readonly (string | number)[] | null
  /**
   * The locale set with `i18n.setLocale`, such as `nl-BE`, or, for a remembered user, the locale from the original
   * sign-in.
   */
  readonly locale: string | null
  /** The URL passed to `application.showURL`. */
  readonly showUrl: string | null
}

interface TestOAuthConfig extends TestDone {
  readonly result: Readonly<Record<string, any>> | null
}

interface TestOpening {
  /** The signed-in user; omit it if no user is signed in. A user added with `addUser` needs only the username. */
  readonly user?: {
    readonly username: string
    readonly uid?: string
    readonly permissions?: readonly string[]
    readonly tenant?: readonly (string | number)[]
    /**
     * Whether the user has just signed in or confirmed their identity, so `security.confirm` returns true; default
     * false.
     */
    readonly confirmed?: boolean
  }
  /** Parameters of the URL. */
  readonly params?: Readonly<Record<string, string>>
  /** For example `nl`; default `en`. */
  readonly locale?: string
  /** Opens the manifest's `loginForm`, without a signed-in user. */
  readonly loginForm?: boolean
}

interface TestRequest {
  /** Plain data, as the function gets it: the parsed JSON, the fields of a form or a string. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** For example `nl`; default `en`. */
  readonly locale?: string
  /** The signed-in user; one added with `addUser` needs only the username. */
  readonly user?: TestOpening['user']
  /** Sends an API token with these permissions and this tenant. */
  readonly token?: { readonly permissions?: readonly string[]; readonly tenant?: readonly (string | number)[] }
  /** Whether the request has a valid signature. */
  readonly signed?: boolean
}

interface TestResponse extends TestDone {
  readonly status: number
  /** The headers that the function set, by lowercase name. */
  readonly headers: Readonly<Record<string, string>>
  /** The parsed JSON, or the text if the body is not JSON. null if there is no body. */
  readonly body: any
  /** The error code if the platform refused the request, such as `ERR_REQUEST_INVALID`; otherwise null. */
  readonly code: string | null
  /** The values that the schemas rejected. */
  readonly faults: readonly { readonly path: string; readonly message: string }[]
}

/** An open solution. Its properties show the state after the last action. */
interface TestClient {
  /** The name of the current form; null if there is none, or if the user has no permission for it. */
  readonly form: string | null
  readonly title: string
  /** Whether the page shows "Unsaved changes". */
  readonly unsaved: boolean
  /** The current form's elements by name, except those that the user has no permission for. */
  readonly elements: { readonly [name: string]: TestElement }
  /** Platform messages shown to the user, for example when a script failed. */
  readonly messages: readonly { readonly text: string; readonly level: string }[]
  readonly locale: string
  /** The reason shown on the page that asks users to confirm their identity; null if no confirmation is pending. */
  readonly confirming: string | null
  /** The URL that `application.showURL` last sent the browser to. */
  readonly wentTo: { readonly href: string; readonly target?: string } | null
  /** The user that a login form signed in. */
  readonly login: TestLogin | null
  readonly tenant: readonly (string | number)[] | null
  readonly isSignedOut: boolean
  /** All log lines and commands since the client was opened. */
  readonly log: readonly TestLogLine[]
  readonly commands: TestDone['commands']
  /** Presses a button or link, or opens the row of a table. */
  click(element: string, row?: string | number): Promise<TestDone>
  /** Enters a value: a string, a number, true or false, a date as `2026-07-31`, or null to empty the input. */
  type(element: string, value: string | number | boolean | null): Promise<TestDone>
  /** Selects rows of a table by their ids. */
  select(element: string, rows: string | number | readonly (string | number)[], selected?: boolean): Promise<TestDone>
  /** Sends any other browser event: `fire('onElementFocusLost', 'name')`, `fire('showTab', 'tabs', 'address')`. */
  fire(type: string, element: string, value?: unknown): Promise<TestDone>
  /** Confirms "Leave without saving?" after a click that shows another form while this one has unsaved changes. */
  leave(): Promise<TestDone>
  /**
   * Simulates a user who confirms their identity, after `security.confirm` or a button with `confirm`. The press then
   * runs again.
   */
  confirm(): Promise<TestDone>
  /** Simulates a user who closes the dialog without confirming. The press does not run again. */
  refuse(): Promise<TestDone>
  /**
   * Calls a function in the solution's scripts, such as `total` or `forms.order.total`. Arguments and result must be
   * plain data.
   */
  call(name: string, ...args: unknown[]): Promise<any>
  /** Lets time pass, for `application.executeLater`; at most 5000 ms. */
  wait(milliseconds: number): Promise<TestDone>
  /** Closes the client: `onUnload` and `onSolutionClose` run. */
  close(): Promise<TestDone>
}

/** An element as the user sees it. Properties that its type doesn't have are absent. */
interface TestElement {
  readonly type: string
  readonly label: string
  readonly visible: boolean
  readonly enabled: boolean
  readonly value?: string | number | boolean | null
  readonly required?: boolean
  /** Why the element's value was rejected. */
  readonly error?: string
  readonly options?: readonly { readonly value: string | number; readonly label: string }[]
  readonly rows?: readonly { readonly [column: string]: any }[]
  readonly selected?: readonly (string | number)[]
  readonly href?: string
  readonly src?: string
}

interface TestHttpAnswer {
  /** The HTTP status; default: 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A string, or plain data to send as JSON. */
  readonly body?: unknown
  /** The request method that the response applies to; default: any. */
  readonly method?: string
}

interface TestHttpRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}
