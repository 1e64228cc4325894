import type Router from '@koa/router'
import type { Context } from 'koa'
import type { User, Users } from '../../base/accounts/users.ts'
import { readWith } from '../../base/api/read-with.ts'
import { readJson } from '../../base/http/read-body.ts'
import { platformText } from '../../base/web/texts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import type { Credentials } from './credentials.ts'
import { PasswordChange } from './openapi.ts'

export type AccountApiParts = {
  readonly access: Access
  readonly users: Users
  readonly credentials: Credentials
  readonly activity: Activity
  readonly limits: Limits
}

/** What people do with their own account. */
export function addAccountRoutes(router: Router, parts: AccountApiParts): void {
  const { access, users, credentials, activity, limits } = parts

  async function changePassword(ctx: Context, user: User, change: PasswordChange): Promise<void> {
    const checked = await credentials.checkOwn(ctx, user, change.current)
    if (checked.kind === 'throttled') {
      const text = `Too many wrong passwords; try again in ${checked.wait} seconds.`
      throw new PlatformError('ERR_THROTTLED', text, { retryAfter: checked.wait })
    }
    if (checked.kind === 'wrong') {
      throw new PlatformError('ERR_REQUEST_INVALID', platformText('en', 'platform.password.wrong'))
    }
    const fault = await users.setPassword(user.uid, change.new)
    if (fault === null) return
    throw new PlatformError('ERR_REQUEST_INVALID', platformText('en', fault.key, fault.values))
  }

  router.get('/account', (ctx) => {
    const { username, lastLoginAt, passwordChangedAt } = access.needPerson(ctx)
    ctx.body = { username, lastLoginAt, passwordChangedAt }
  })

  router.put('/account/password', async (ctx) => {
    const user = access.needPerson(ctx)
    const change = readWith(PasswordChange, await readJson(ctx, limits))
    const act = { action: 'password-change', subject: '' }
    await recorded(ctx, activity, actorOf(user), act, () => changePassword(ctx, user, change))
    ctx.status = 204
  })

  router.delete('/account/sessions', async (ctx) => {
    const user = access.needPerson(ctx)
    const act = { action: 'sign-out-everywhere', subject: '' }
    await recorded(ctx, activity, actorOf(user), act, () => users.signOut(user.uid))
    ctx.status = 204
  })
}

/** What people do with their accounts is of no organisation. */
function actorOf({ username }: User) {
  return { name: `user:${username}`, organisation: { id: '' } }
}
