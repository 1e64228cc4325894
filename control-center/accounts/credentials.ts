import type { Context } from 'koa'
import { stateOf } from '../../host/http/request.ts'
import type { Throttle } from '../../host/login/throttle.ts'
import type { User, Users } from '../../host/users/users.ts'
import type { Activity } from '../access/activity.ts'

/** What came of an attempt; `wait` in seconds. */
export type CheckedCredentials =
  | { readonly kind: 'right'; readonly user: User }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'throttled'; readonly wait: number }

/** Passwords of accounts, with all attempts counted together, from whichever page they come. */
export interface Credentials {
  check(ctx: Context, username: string, password: string): Promise<CheckedCredentials>
  /** The same of somebody who is signed in. */
  checkOwn(ctx: Context, user: User, password: string): Promise<CheckedCredentials>
  /** Writes down what was done with an account. */
  note(ctx: Context, username: string, action: string, outcome: string): Promise<void>
}

export function createCredentials(users: Users, throttle: Throttle, activity: Activity): Credentials {
  async function counted(ctx: Context, username: string, ask: () => Promise<User | null>): Promise<CheckedCredentials> {
    const attempt = { source: 'center', username, address: stateOf(ctx).client.address }
    const wait = await throttle.count(attempt, false)
    if (wait !== null) {
      ctx.set('Retry-After', String(wait))
      return { kind: 'throttled', wait }
    }
    const user = await ask()
    if (user === null) return { kind: 'wrong' }
    await throttle.succeeded(attempt, false)
    return { kind: 'right', user }
  }

  return {
    check: (ctx, username, password) => counted(ctx, username, () => users.authenticate(username, password)),
    checkOwn: (ctx, user, password) =>
      counted(ctx, user.username, async () => ((await users.checkPassword(user.uid, password)) ? user : null)),
    async note(ctx, username, action, outcome) {
      const { client, correlationId } = stateOf(ctx)
      const act = { organisation: '', actor: `user:${username}`, action, subject: '', outcome }
      await activity.record({ ...act, address: client.address, correlationId })
    },
  }
}
