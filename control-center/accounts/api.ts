import type { Context } from 'koa'
import type { User, Users } from '../../base/accounts/users.ts'
import { DONE } from '../../base/api/route.ts'
import { platformText } from '../../base/web/texts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { Access } from '../access/access.ts'
import type { Confirmations } from '../access/confirmations.ts'
import { type PersonRoute, personRoute } from '../access/route.ts'
import type { Credentials } from './credentials.ts'

export type AccountApiParts = {
  readonly access: Access
  readonly users: Users
  readonly credentials: Credentials
  readonly confirmations: Confirmations
}

const PasswordChange = z
  .strictObject({
    current: z.string().max(1000),
    new: z.string().max(1000).describe('the new password'),
  })
  .meta({ id: 'PasswordChange' })

const Account = z
  .object({
    username: z.string().describe('the email address'),
    lastLoginAt: z.int().nullable(),
    passwordChangedAt: z.int().nullable(),
  })
  .meta({ id: 'Account' })

/** Routes that people use for their own accounts. */
export function accountRoutes({ access, users, credentials, confirmations }: AccountApiParts): PersonRoute[] {
  async function changePassword(ctx: Context, user: User, change: z.infer<typeof PasswordChange>): Promise<void> {
    const checked = await credentials.checkOwn(ctx, user, change.current)
    if (checked.kind === 'throttled') {
      const text = `You have entered too many wrong passwords. Try again in ${checked.wait} s.`
      throw new PlatformError('ERR_THROTTLED', text, { retryAfter: checked.wait })
    }
    if (checked.kind === 'wrong') {
      throw new PlatformError('ERR_REQUEST_INVALID', platformText('en', 'platform.password.wrong'))
    }
    const fault = await users.choosePassword(user, change.new)
    if (fault === null) return
    if (fault === 'changed') {
      throw new PlatformError(
        'ERR_UNAUTHENTICATED',
        'Your password was not changed, because your account was changed at the same time. Sign in again.',
      )
    }
    throw new PlatformError('ERR_REQUEST_INVALID', platformText('en', fault.key, fault.values))
  }

  return [
    personRoute(
      'GET /account',
      { summary: 'Get your own account', right: 'person', answers: { 200: Account } },
      ({ who }) => who,
    ),
    personRoute(
      'PUT /account/password',
      {
        summary: 'Change your own password, which signs you out everywhere',
        right: 'person',
        act: 'password-change',
        // For users without a second factor, entering the current password is sufficient confirmation.
        before: async ({ who, ctx }) => {
          if (await confirmations.hasFactor(who.uid)) await access.needConfirmation(ctx)
        },
        body: PasswordChange,
        answers: DONE,
      },
      ({ who, body, ctx }) => changePassword(ctx, who, body),
    ),
    personRoute(
      'DELETE /account/sessions',
      { summary: 'Sign out everywhere', right: 'person', act: 'sign-out-everywhere', answers: DONE },
      ({ who }) => users.signOut(who.uid),
    ),
  ]
}
