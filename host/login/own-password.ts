import type { Context } from 'koa'
import { checkCounted, type Throttle } from '../../base/accounts/throttle.ts'
import type { User, Users } from '../../base/accounts/users.ts'
import { stateOf } from '../../base/http/request.ts'
import { platformText } from '../../base/web/texts.ts'

/**
 * Checks the current password of a user who is signed in. The attempt counts towards the same limits as attempts on the
 * login page.
 * @returns null if the password is correct; otherwise the reason, in the user's language
 */
export async function refuseOwnPassword(
  ctx: Context,
  locale: string,
  { uid, username }: Pick<User, 'uid' | 'username'>,
  password: string,
  { users, throttle }: { readonly users: Users; readonly throttle: Throttle },
): Promise<{ readonly isThrottled: boolean; readonly text: string } | null> {
  // The session's name may be different, because scripts choose it. The login page counts the name in the users table.
  const name = (await users.get(uid))?.username ?? username
  const attempt = { source: 'users', username: name, address: stateOf(ctx).client.address }
  const wait = await throttle.count(attempt, false)
  if (wait !== null) {
    ctx.set('Retry-After', String(wait))
    return { isThrottled: true, text: platformText(locale, 'platform.login.throttled') }
  }
  if (!(await checkCounted(throttle, attempt, false, () => users.checkPassword(uid, password)))) {
    return { isThrottled: false, text: platformText(locale, 'platform.password.wrong') }
  }
  await throttle.succeeded(attempt, false)
  return null
}
