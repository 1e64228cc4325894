import type { KnownBrowsers } from '../../base/accounts/known-browser.ts'
import { checkCounted, type Throttle } from '../../base/accounts/throttle.ts'
import type { User, Users } from '../../base/accounts/users.ts'
import { stateOf } from '../../base/http/request.ts'
import { platformText } from '../../base/web/texts.ts'
import type { Arrival } from './arrival.ts'

type Parts = { readonly users: Users; readonly throttle: Throttle; readonly knownBrowsers: KnownBrowsers }

/**
 * Checks the current password of a user who is signed in. The attempt counts towards the same limits as attempts on the
 * login page. In a browser that is known for the account, other people's failed attempts don't block the user.
 * @returns null if the password is correct; otherwise the reason, in the user's language
 */
export async function refuseOwnPassword(
  { ctx, locale, scope }: Pick<Arrival, 'ctx' | 'locale' | 'scope'>,
  { uid, username }: Pick<User, 'uid' | 'username'>,
  password: string,
  { users, throttle, knownBrowsers }: Parts,
): Promise<{ readonly isThrottled: boolean; readonly text: string } | null> {
  // The session's name may be different, because scripts choose it. The login page counts the name in the users table.
  const name = (await users.get(uid))?.username ?? username
  const attempt = { source: 'users', username: name, address: stateOf(ctx).client.address }
  const isKnown = knownBrowsers.isKnown(ctx, scope, attempt.source, name)
  const wait = await throttle.count(attempt, isKnown)
  if (wait !== null) {
    ctx.set('Retry-After', String(wait))
    return { isThrottled: true, text: platformText(locale, 'platform.login.throttled') }
  }
  if (!(await checkCounted(throttle, attempt, isKnown, () => users.checkPassword(uid, password)))) {
    return { isThrottled: false, text: platformText(locale, 'platform.password.wrong') }
  }
  await throttle.succeeded(attempt, isKnown)
  return null
}
