import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { ClientSide } from '../../base/http/client.ts'
import type { ShellModel } from './render/shell.ts'

/** Who opens a client, from where, and with which address of the page. */
export type Visitor = {
  readonly solution: ActiveSolution
  /** The client opens on the manifest's `loginForm`, and nothing else is reached. */
  readonly isLoginForm: boolean
  /** null: nobody is signed in. */
  readonly found: FoundSession | null
  /** The network address of the browser. */
  readonly address: string
  readonly client: ClientSide
  readonly serverUrl: string
  readonly locale: string
  /** What the browser asks for, as `Accept-Language` has it. */
  readonly languages: string
  /** The query of the page. */
  readonly url: ReadonlyMap<string, string>
  /** Path and query of the page, see `pageAskedFor`. */
  readonly page: string
  /** Names the browser, see `FormTokens.browserOf`; null: it has no cookie of ours. */
  readonly browser: string | null
  readonly account: ShellModel['user']
  /** Ends the session and what the browser remembers, without the browser's help. */
  readonly forget: () => Promise<void>
}
