import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { ClientSide } from '../../base/http/client.ts'
import type { ShellModel } from './render/shell.ts'

/** The user, browser and request that a client is opened for. */
export type Visitor = {
  readonly solution: ActiveSolution
  /** Whether the client shows only the manifest's `loginForm`. */
  readonly isLoginForm: boolean
  /** Null if no user is signed in. */
  readonly found: FoundSession | null
  /** The browser's IP address. */
  readonly address: string
  readonly client: ClientSide
  readonly serverUrl: string
  readonly locale: string
  /** The browser's `Accept-Language` header. */
  readonly languages: string
  /** The page's query parameters. */
  readonly url: ReadonlyMap<string, string>
  /** The page's path and query, see `requestedPage`. */
  readonly page: string
  /** Identifies the browser by a cookie, see `FormTokens.browserOf`; null if it has no such cookie. */
  readonly browser: string | null
  readonly account: ShellModel['user']
  /** Ends the session and the remembered login without involving the browser. */
  readonly forget: () => Promise<void>
}

/**
 * Describes the visitor's attempt to sign in. The account is not known yet, so the attempt counts only towards the
 * network's limit.
 */
export function tryOf({ address }: Visitor) {
  return { source: '', username: '', address }
}
