import type { AccountSourceName } from '../../base/accounts/account-source-name.ts'
import type { FactorAccount } from '../../base/accounts/factor-account.ts'
import type { PasskeyUser } from '../../base/accounts/passkeys.ts'
import type { Series } from '../../base/accounts/remembered.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import type { User, Users } from '../../base/accounts/users.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { noEffects } from '../../base/bundles/host-call.ts'
import { availableLocales } from '../../base/bundles/messages.ts'
import { permissionsOf } from '../../base/bundles/prepared-solution.ts'
import { chooseLocale } from '../../base/http/languages.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Asking } from './arrival.ts'
import { askAgain, earlierOf } from './ask-again.ts'
import type { AuthenticatorQuestion } from './ask-authenticator.ts'
import { customFields, queryParams } from './query-params.ts'
import { passwordOf } from './second-step-gate.ts'
import type { Accepted, SignInAnswer } from './sign-in-answer.ts'
import { type FormMode, isProviderMode, type ProviderMode } from './sign-in-mode.ts'

export interface AccountSource {
  readonly name: AccountSourceName
  /**
   * Checks a remembered user again: their permissions may have changed since they signed in. Never accepts another
   * user.
   */
  recheck(asking: Asking, series: Series): Promise<SignInAnswer>
  /**
   * Whether the accepted sign-in is still valid. Call this after storing the session. If the user's access ended just
   * before that, nothing else ends the new session.
   */
  stillHolds(asking: Asking, accepted: Checked, providerLogin: string | null): Promise<boolean>
}

/** An accepted sign-in, and the state of the user's password when it was checked. */
export type Checked = Pick<Accepted, 'login' | 'effects'> & {
  readonly user: Pick<User, 'passwordChangedAt'> | null
}

/** A source that checks the credentials entered on the login page. */
export interface FormSource extends AccountSource {
  /** How the source checks credentials. */
  readonly method: SignInMethod
  /** The name under which sign-in attempts for its accounts are counted. */
  countedAs(solution: ActiveSolution): string
  check(asking: Asking, fields: ReadonlyMap<string, string>): Promise<SignInAnswer>
  /** Whether the passkey's user may sign in. Never accepts another user. @param fields as sent by the login page */
  checkPasskey(asking: Asking, owner: PasskeyOwner, fields: ReadonlyMap<string, string>): Promise<SignInAnswer>
}

export type PasskeyOwner = {
  readonly account: FactorAccount
  readonly user: PasskeyUser
  /**
   * When the passkey was last used before this sign-in, in epoch ms. If it had never been used, this is when it was
   * created.
   */
  readonly lastUsedAt: number
}

export interface AccountSources {
  /** @throws ERR_MODE_UNAVAILABLE for PLATFORM_CLOUD if the host is not connected to a control center */
  ofForm(mode: FormMode): FormSource
  ofMode(mode: FormMode | ProviderMode): AccountSource
}

/** @param cloud null if the host is not connected to a control center */
export function createAccountSources(
  users: Users,
  askAuthenticator: AuthenticatorQuestion,
  provider: AccountSource,
  cloud: FormSource | null,
): AccountSources {
  const table = usersTable(users)
  const module = authenticatorModule(users, askAuthenticator)
  function ofForm(mode: FormMode): FormSource {
    if (mode !== 'PLATFORM_CLOUD') return mode === 'DEFAULT' ? table : module
    if (cloud !== null) return cloud
    throw new PlatformError(
      'ERR_MODE_UNAVAILABLE',
      'PLATFORM_CLOUD needs a control center: set ENVIRONMENT=onprem, CLOUD_URL and REMOTE_ENVIRONMENT_TOKEN, and restart the host.',
      { mode },
    )
  }
  return { ofForm, ofMode: (mode) => (isProviderMode(mode) ? provider : ofForm(mode)) }
}

function usersTable(users: Users): FormSource {
  /**
   * Chosen here: users need at least one permission for the solution to sign in, since `security.login` rejects an
   * empty list.
   */
  async function answerFor({ solution }: Asking, user: User): Promise<SignInAnswer> {
    const listed = permissionsOf(solution)
    const held = await users.permissionsFor(user.uid, solution.name)
    // All solutions share the users table. Omit permissions that this solution doesn't list, because they belong to
    // others.
    const permissions = listed === null ? held : held.filter((name) => listed.includes(name))
    if (permissions.length === 0) return refused()
    const login = { username: user.username, uid: user.uid, permissions }
    // Use the user's language, or the best match for it among the solution's languages.
    const locale = user.locale === null ? null : chooseLocale(user.locale, availableLocales(solution.texts))
    return { kind: 'accepted', login, effects: { ...noEffects(), login, locale }, user }
  }

  /**
   * Whether the user is still enabled, with the same password and at least the same permissions as when the password
   * was checked.
   */
  async function isAsBefore(asking: Asking, { login, user: before }: Checked): Promise<boolean> {
    const user = await users.get(login.uid)
    if (!user?.enabled || user.passwordChangedAt !== before?.passwordChangedAt) return false
    const now = await answerFor(asking, user)
    return now.kind === 'accepted' && login.permissions.every((name) => now.login.permissions.includes(name))
  }

  return {
    name: 'users',
    method: 'password',
    stillHolds: isAsBefore,
    countedAs: () => 'users',
    async check(asking, fields) {
      const user = await users.authenticate(fields.get('username') ?? '', fields.get('password') ?? '')
      return user === null ? refused() : answerFor(asking, user)
    },
    async checkPasskey(asking, { account }) {
      const user = await users.recheck(account.uid)
      return user === null ? refused() : answerFor(asking, user)
    },
    async recheck(asking, series) {
      const user = await users.recheck(series.uid)
      // Users who must change their password have to sign in on the login page first.
      return user === null || user.mustChangePassword ? refused() : answerFor(asking, user)
    },
  }
}

function authenticatorModule(users: Pick<Users, 'recheck' | 'get'>, ask: AuthenticatorQuestion): FormSource {
  return {
    name: '',
    method: 'script',
    countedAs: (solution) => `solution ${solution.name}`,
    check: (asking, fields) => ask(asking, queryParams(asking.url, fields), fields),
    async checkPasskey(asking, { account, user, lastUsedAt }, fields) {
      // Reject disabled users here. The script can't do so with `security.authenticate`, because a passkey has no
      // password.
      if (account.source === 'users' && (await users.recheck(account.uid)) === null) return refused()
      const custom = customFields(asking.url, fields)
      // All solutions share the users table. This script must not learn which permissions the user has in others.
      const { permissions, tenant, ...known } = user
      const own = account.source === 'users' ? { permissions: [], tenant: null } : { permissions, tenant }
      const earlier = { ...known, ...own, uid: account.uid }
      return askAgain(ask, asking, { ...earlier, custom }, { last_login: lastUsedAt, ...earlier, passkey: true })
    },
    async recheck(asking, series) {
      // Reject users of the users table who were disabled. The script can't check this without their password.
      if (series.factorsOf === 'users' && (await users.recheck(series.uid)) === null) return refused()
      return askAgain(ask, asking, series, { last_login: series.lastLoginAt, ...earlierOf(asking, series) })
    },
    // If the script did not use the users table, its users are not stored in the platform, so the platform can't end
    // their access.
    async stillHolds(_asking, { login, effects }) {
      const password = passwordOf(effects, login)
      return password === null || isStillAllowed(users, { source: 'users', uid: login.uid }, password)
    },
  }
}

/**
 * Whether the account's user is still enabled in the users table, with the same password as when it was checked. True
 * for accounts of other sources. Doesn't ask the user's directory, which was asked a moment ago.
 * @param password null if no password was checked
 */
export async function isStillAllowed(
  users: Pick<Users, 'get'>,
  { source, uid }: Pick<FactorAccount, 'source' | 'uid'>,
  password: Checked['user'],
): Promise<boolean> {
  if (source !== 'users') return true
  const user = await users.get(uid)
  return user?.enabled === true && (password === null || user.passwordChangedAt === password.passwordChangedAt)
}

function refused(): SignInAnswer {
  return { kind: 'refused', effects: noEffects(), values: {} }
}
