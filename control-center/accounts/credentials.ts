import type { Context } from 'koa'
import type { KnownBrowsers } from '../../base/accounts/known-browser.ts'
import { checkCounted, type Throttle } from '../../base/accounts/throttle.ts'
import type { User, Users } from '../../base/accounts/users.ts'
import { stateOf } from '../../base/http/request.ts'
import type { Audit } from '../access/audit.ts'
import { cookieScopeOf } from '../access/page-sessions.ts'

/** The result of checking credentials; `wait` is in seconds. */
export type CheckedCredentials =
  | { readonly kind: 'right'; readonly user: User }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'throttled'; readonly wait: number }

/** Checks accounts' passwords. All pages share the counters of failed attempts. */
export interface Credentials {
  check(ctx: Context, username: string, password: string): Promise<CheckedCredentials>
  /**
   * Whether the user has signed in to the account with this browser before. Other people's wrong guesses don't lock out
   * such a browser.
   */
  isKnown(ctx: Context, username: string): boolean
  /**
   * Checks the password of a user who is signed in. Wrong attempts are limited as in an unknown browser, because
   * someone else may be using this one.
   */
  checkOwn(ctx: Context, user: User, password: string): Promise<CheckedCredentials>
  /** Remembers that the user has signed in with this browser. */
  noteKnown(ctx: Context, username: string): void
  /** Records an action on an account in the audit log. */
  note(ctx: Context, username: string, action: string, outcome: string, target?: string): Promise<void>
}

/** The control center's name in the counters of failed attempts and in known browsers' cookies. */
const SOURCE = 'center'

export function createCredentials(
  users: Users,
  throttle: Throttle,
  audit: Audit,
  knownBrowsers: KnownBrowsers,
): Credentials {
  const isKnown = (ctx: Context, username: string) => knownBrowsers.isKnown(ctx, cookieScopeOf(ctx), SOURCE, username)

  async function counted(
    ctx: Context,
    username: string,
    known: boolean,
    ask: () => Promise<User | null>,
  ): Promise<CheckedCredentials> {
    const attempt = { source: SOURCE, username, address: stateOf(ctx).client.address }
    const wait = await throttle.count(attempt, known)
    if (wait !== null) {
      ctx.set('Retry-After', String(wait))
      return { kind: 'throttled', wait }
    }
    const user = await checkCounted(throttle, attempt, known, ask)
    if (user === null) return { kind: 'wrong' }
    await throttle.succeeded(attempt, known)
    return { kind: 'right', user }
  }

  return {
    isKnown,
    check: (ctx, username, password) =>
      counted(ctx, username, isKnown(ctx, username), () => users.authenticate(username, password)),
    noteKnown: (ctx, username) => knownBrowsers.note(ctx, cookieScopeOf(ctx), SOURCE, username),
    checkOwn: (ctx, user, password) =>
      counted(ctx, user.username, false, async () => ((await users.checkPassword(user.uid, password)) ? user : null)),
    async note(ctx, username, action, outcome, target) {
      const { client, correlationId } = stateOf(ctx)
      const actor = `user:${username}`
      await audit.record({ actor, action, outcome, target, address: client.address, correlationId })
    },
  }
}
