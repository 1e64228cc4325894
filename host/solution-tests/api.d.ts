// What the tests of a solution can use, for editors: "/// <reference path="./.solhost/test.d.ts" />" begins a test file.
// Made by "solhost init" and "solhost types", brought up to date by "solhost check"; what is changed here is lost.

/** A test. Each runs in fresh globals, after all of its file has run once more, and has the whole platform to itself. */
declare function test(name: string, run: () => unknown): void

/** Throws unless `value` is true, or counts as true. */
declare const assert: {
  (value: unknown, message?: string): void
  /** By value, however deep. */
  equal(received: unknown, expected: unknown, message?: string): void
  notEqual(received: unknown, other: unknown, message?: string): void
  match(received: string, pattern: RegExp | string, message?: string): void
  /** Calls the function. @returns what it threw */
  throws(run: () => unknown, pattern?: RegExp | string): Error
  /** Waits for the Promise. @returns what it failed with */
  rejects(promise: Promise<unknown>, pattern?: RegExp | string): Promise<Error>
}

/** The solution whose folder holds the test file, as a host runs it. */
declare const solution: {
  readonly name: string
  readonly version: string
  /**
   * Asks the authenticator, as the login page does: its `onSolutionOpen` in a context of its own. `argument` becomes its `arg`.
   * Fails where the script fails.
   */
  signIn(queryParams?: TestQueryParams): Promise<TestSignIn>
  /** Asks for the OAuth settings of an address with these parameters. */
  getOAuthConfig(queryParams?: Readonly<Record<string, string>>): Promise<TestOAuthConfig>
  /** Opens the solution in a browser that shows nothing. */
  open(options?: TestOpening): Promise<TestClient>
  /** Adds a user to the platform's users table, which the scripts may ask from then on. */
  addUser(user: { username: string; password?: string; permissions?: readonly string[]; email?: string }): Promise<{
    uid: string
  }>
  /** What `plugins.http.fetch` gets for this address. No request leaves the machine: one without an answer fails. */
  answerHttp(url: string, answer: TestHttpAnswer): Promise<void>
  /** What `plugins.http.fetch` was called with so far. */
  httpRequests(): Promise<readonly TestHttpRequest[]>
}

interface TestQueryParams {
  readonly username?: string
  readonly password?: string
  readonly argument?: string
  /**
   * Asks about a remembered user, as the host does: without a password, with the members that the host gives. Members left out have
   * the values of an ordinary sign-in; `tenant` and `locale` are restored where the script sets none. With a provider other
   * members are its claims, and without `uid` it is the first sign-in.
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

/** What a script did while it ran. */
interface TestDone {
  /** Effects that it asked for, such as `{ name: 'security.login', args: ['anna', '1', ['Users']] }`, in their order. */
  readonly commands: readonly { readonly name: string; readonly args: readonly any[] }[]
  /** What it wrote into the solution's log. */
  readonly log: readonly TestLogLine[]
  /** From the call until its end. */
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
  /** null: nobody was signed in. */
  readonly login: TestLogin | null
  /** The object that `onSolutionOpen` returned as JSON, for the placeholders of the login page; null where it returned none. */
  readonly result: Readonly<Record<string, any>> | null
  /** What `security.setTenantValue` set, or at a remembered return that of the sign-in. */
  readonly tenant: readonly (string | number)[] | null
  /** What `i18n.setLocale` chose, such as `nl-BE`, or at a remembered return that of the sign-in. */
  readonly locale: string | null
  /** Where `application.showURL` leads. */
  readonly showUrl: string | null
}

interface TestOAuthConfig extends TestDone {
  readonly result: Readonly<Record<string, any>> | null
}

interface TestOpening {
  /** Who is signed in; absent: nobody. A user of `addUser` is named by the username alone. */
  readonly user?: {
    readonly username: string
    readonly uid?: string
    readonly permissions?: readonly string[]
    readonly tenant?: readonly (string | number)[]
  }
  /** Parameters of the address. */
  readonly params?: Readonly<Record<string, string>>
  /** Such as `nl`; `en` unless given. */
  readonly locale?: string
  /** Opens on the manifest's `loginForm`, before anybody is signed in. */
  readonly loginForm?: boolean
}

/** An open solution. Its properties are as they were after the last thing that was done. */
interface TestClient {
  /** The name of the form that is shown. */
  readonly form: string | null
  readonly title: string
  /** Of the shown form, by name; without those that the user's permissions leave out. */
  readonly elements: { readonly [name: string]: TestElement }
  /** Messages of the platform that the user saw, such as that a script failed. */
  readonly messages: readonly { readonly text: string; readonly level: string }[]
  readonly locale: string
  /** Where `application.showURL` sent the browser last. */
  readonly wentTo: { readonly href: string; readonly target?: string } | null
  /** Whom a login form signed in. */
  readonly login: TestLogin | null
  readonly tenant: readonly (string | number)[] | null
  readonly isSignedOut: boolean
  /** All that the client did since it was opened. */
  readonly log: readonly TestLogLine[]
  readonly commands: TestDone['commands']
  /** Presses a button or link, or opens the row of a table. */
  click(element: string, row?: string | number): Promise<TestDone>
  /** Enters a value: a text, a number, true or false, a date as `2026-07-31`, null for nothing. */
  type(element: string, value: string | number | boolean | null): Promise<TestDone>
  /** Selects rows of a table, by their ids. */
  select(element: string, rows: string | number | readonly (string | number)[], selected?: boolean): Promise<TestDone>
  /** Any other event of a browser: `fire('onElementFocusLost', 'name')`, `fire('showTab', 'tabs', 'address')`. */
  fire(type: string, element: string, value?: unknown): Promise<TestDone>
  /** Calls a function of the scripts, such as `total` or `forms.order.total`. Arguments and result are plain data. */
  call(name: string, ...args: unknown[]): Promise<any>
  /** Lets time pass, for `application.executeLater`; at most 5000 ms. */
  wait(milliseconds: number): Promise<TestDone>
  /** The user leaves: `onUnload` and `onSolutionClose` run. */
  close(): Promise<TestDone>
}

/** An element as the user sees it. What an element of its type has not is absent. */
interface TestElement {
  readonly type: string
  readonly label: string
  readonly visible: boolean
  readonly enabled: boolean
  readonly value?: string | number | boolean | null
  readonly required?: boolean
  /** Why its value is refused. */
  readonly error?: string
  readonly options?: readonly { readonly value: string | number; readonly label: string }[]
  readonly rows?: readonly { readonly [column: string]: any }[]
  readonly selected?: readonly (string | number)[]
  readonly href?: string
  readonly src?: string
}

interface TestHttpAnswer {
  /** 200 unless given. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A text, or plain data, which is sent as JSON. */
  readonly body?: unknown
  /** Any unless given. */
  readonly method?: string
}

interface TestHttpRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}
