import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Database } from '../../base/database/open.ts'
import type { Login, Tenant } from '../../plugins/security/host.ts'
import { z } from '../../runtime/zod.ts'
import { createSingleUseTokens } from './single-use-token.ts'

/** Whom a login form's script signed in, and what it set for them. */
export type ClientSignIn = {
  readonly login: Login
  readonly tenant: Tenant | null
  readonly locale: string
  /** Path and query of the solution's page that the browser asked for, as `pageAskedFor` gives it. */
  readonly page: string
  /** Where the script sends the browser instead (`application.showURL`), checked; null: to `page`. */
  readonly showUrl: string | null
}

/**
 * A script decides over the client's connection, where no cookie can be set: the page carries its decision to the host
 * once more, which makes the session. So it is good for the browser that the client is open in alone, once, for a minute.
 */
export interface ClientSignIns {
  /**
   * @param signIn `browser`: as `FormTokens.browserOf` gives it for the connection's handshake
   * @throws ERR_REQUEST_INVALID when user and permissions are too much for a token
   */
  issue(signIn: ClientSignIn & { readonly solution: string; readonly browser: string }): string
  /**
   * Uses a token up, on all hosts. The caller checks the permissions against those of the solution's manifest.
   * @returns null when the token is none of a client's, expired or used before; or for another solution or another
   *   browser, which does not use it up
   */
  consume(solution: string, token: string, browser: string): Promise<ClientSignIn | null>
}

/** In ms: the page posts it at once. */
const LIFETIME = 60_000
/** Characters: it travels in a form, of which `FORM_BODY` takes 64 KiB, and holds some hundred permissions. */
const LONGEST = 48 * 1024

const Content = z.strictObject({
  browser: z.string(),
  login: z.strictObject({ username: z.string(), uid: z.string(), permissions: z.array(z.string()) }),
  tenant: z.array(z.union([z.string(), z.number()])).nullable(),
  locale: z.string(),
  page: z.string(),
  showUrl: z.string().nullable(),
})

/** @param now the clock, in epoch milliseconds */
export function createClientSignIns(db: Database, key: PlatformKey, now: () => number = Date.now): ClientSignIns {
  type Bound = ClientSignIn & { readonly browser: string }
  const kind = { purpose: 'client-sign-in', content: Content satisfies z.ZodType<Bound>, longest: LONGEST }
  const tokens = createSingleUseTokens<Bound>(db, key, kind, now)
  return {
    issue({ solution, browser, login, tenant, locale, page, showUrl }) {
      if (!isPageOf(solution, page)) throw new TypeError(`"${page}" is no page of the solution "${solution}"`)
      const { username, uid, permissions } = login
      const content = { browser, login: { username, uid, permissions }, tenant, locale, page, showUrl }
      return tokens.issue(solution, content, LIFETIME).token
    },
    async consume(solution, token, browser) {
      const found = await tokens.consume(solution, token, (content) => content.browser === browser)
      if (found === null) return null
      const { browser: _, ...signIn } = found
      return signIn
    },
  }
}

function isPageOf(solution: string, page: string): boolean {
  const path = `/solution/${solution}/index.html`
  return page === path || page.startsWith(`${path}?`)
}
