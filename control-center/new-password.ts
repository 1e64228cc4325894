import { randomBytes } from 'node:crypto'
import { createPasswords } from '../base/accounts/passwords.ts'
import { createSessions } from '../base/accounts/sessions.ts'
import { createUsers, type User, type Users } from '../base/accounts/users.ts'
import { PlatformError } from '../runtime/errors.ts'
import type { Limits } from '../runtime/limits.ts'
import { endAccess } from './access/end-access.ts'
import type { CenterSettings } from './config/settings.ts'
import type { CenterDatabase } from './database/tables.ts'
import { openUsedCenterDatabase } from './migrations/open.ts'

/**
 * Resets an account's password, and enables the account. Anyone with access to the machine can run this, because an
 * owner who forgot their password may not have anyone else to ask. The password must be changed at the next sign-in,
 * and all sessions of the account end. The control center may be running.
 * @returns the password, which is shown nowhere else
 * @throws ERR_USER_NOT_FOUND, and the errors of `openUsedCenterDatabase`
 */
export async function makeNewPassword(settings: CenterSettings, username: string): Promise<string> {
  const db = await openUsedCenterDatabase(settings)
  try {
    const { limits } = settings
    const users = accountsOf(db, limits)
    const user = await needAccount(users, username)
    const password = randomBytes(18).toString('base64url')
    await users.change(user.uid, { password, mustChangePassword: true, enabled: true })
    return password
  } finally {
    await db.destroy()
  }
}

/** Opens the accounts for a command that the operator runs. */
export function accountsOf(db: CenterDatabase, limits: Limits): Users {
  return createUsers(db, createPasswords(), limits, {
    endAccess: (uid) => endAccess(db, createSessions(db, limits), uid),
    eraseFromAudit: async () => {},
  })
}

/** @throws ERR_USER_NOT_FOUND */
export async function needAccount(users: Pick<Users, 'find'>, username: string): Promise<User> {
  const user = await users.find(username)
  if (user !== null) return user
  throw new PlatformError(
    'ERR_USER_NOT_FOUND',
    `There is no account "${username.slice(0, 200)}". Check the email address.`,
  )
}
