import { createSingleUseTokens } from '../../base/accounts/single-use-token.ts'
import type { Effects } from '../../base/bundles/host-call.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Login, Tenant } from '../../plugins/security/host.ts'
import { z } from '../../runtime/zod.ts'
import type { HostDatabase } from '../database/tables.ts'

/** The user that a login form's script signed in, and the values that the script set for them. */
export type ClientSignIn = {
  readonly login: Login
  readonly tenant: Tenant | null
  readonly locale: string
  /** Path and query of the requested page, as returned by `requestedPage`. */
  readonly page: string
  /** The URL that the script set, which replaces `page`; or null. It has been checked, see `application.showURL`. */
  readonly showUrl: string | null
  /** The user that `security.authenticate` found in the same call; null if there is none. */
  readonly authenticated: NonNullable<Effects['authenticated']> | null
  /** Whether the script required a second step. */
  readonly needsSecondFactor: boolean
}

/**
 * A login form's script signs in its user over the client's connection, which can't set cookies. So the page posts a
 * token to the host, and the host starts the session. The token can be used once, within a minute, and only in the
 * client's browser.
 */
export interface ClientSignIns {
  /**
   * @param signIn `browser` is the result of `FormTokens.browserOf` for the connection's handshake
   * @throws ERR_REQUEST_INVALID if the user and permissions are too long for a token
   */
  issue(signIn: ClientSignIn & { readonly solution: string; readonly browser: string }): string
  /**
   * Marks a token as used, on all hosts. The caller must check the token's permissions against those in the solution's
   * manifest.
   * @returns null if the token was not issued to a client, is expired or was already used. Also null if the token is
   *   for another solution or browser; it then remains unused
   */
  consume(solution: string, token: string, browser: string): Promise<ClientSignIn | null>
}

/** How long a token is valid, in ms. The time is short, because the page posts the token immediately. */
const LIFETIME = 60_000
/**
 * Maximum characters of a token, enough for a few hundred permissions. The token is sent in a form, which `FORM_BODY`
 * limits to 64 KiB.
 */
const LONGEST = 48 * 1024

const Content = z.strictObject({
  browser: z.string(),
  login: z.strictObject({ username: z.string(), uid: z.string(), permissions: z.array(z.string()) }),
  tenant: z.array(z.union([z.string(), z.number()])).nullable(),
  locale: z.string(),
  page: z.string(),
  showUrl: z.string().nullable(),
  authenticated: z.strictObject({ uid: z.string(), passwordChangedAt: z.number().nullable() }).nullable(),
  needsSecondFactor: z.boolean(),
})

/** @param now returns the current time in epoch milliseconds */
export function createClientSignIns(db: HostDatabase, key: PlatformKey, now: () => number = Date.now): ClientSignIns {
  type Bound = ClientSignIn & { readonly browser: string }
  const kind = { purpose: 'client-sign-in', content: Content satisfies z.ZodType<Bound>, longest: LONGEST }
  const tokens = createSingleUseTokens<Bound>(db, key, kind, now)
  return {
    issue({ solution, login, ...signIn }) {
      const { page } = signIn
      if (!isPageOf(solution, page)) throw new TypeError(`"${page}" is not a page of the solution "${solution}"`)
      const { username, uid, permissions } = login
      const content = { ...signIn, login: { username, uid, permissions } }
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
