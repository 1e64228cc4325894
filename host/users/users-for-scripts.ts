import { isSourceAway } from '../../base/accounts/source-away.ts'
import { checkCounted, type Throttle } from '../../base/accounts/throttle.ts'
import type { User, Users } from '../../base/accounts/users.ts'
import { userTarget } from '../../base/api/targets.ts'
import { hostCall } from '../../base/bundles/host-call.ts'
import { permissionsOf } from '../../base/bundles/prepared-solution.ts'
import { isRefusal } from '../../base/http/errors.ts'
import { platformText } from '../../base/web/texts.ts'
import type { UsersPort } from '../../plugins/security/host.ts'
import { type Call, ScriptError } from '../../runtime/plugin.ts'
import type { Audit } from '../access/audit.ts'
import type { GrantStore } from '../grants/grants.ts'
import type { NoteRefusal } from '../solutions/script-refusals.ts'

/**
 * Users with this permission may manage the users table through scripts. They must have it in the table: a permission
 * granted by `security.login` is not enough.
 */
export const ADMINISTRATORS = 'Administrators'

export type UsersForScriptsParts = {
  readonly users: Users
  readonly grants: Pick<GrantStore, 'get'>
  readonly throttle: Throttle
  readonly audit: Audit
  readonly noteRefusal: NoteRefusal
}

const NOT_GRANTED = 'the operator has not granted the users table to this solution; ask the operator to grant it'

/** The users table for scripts. Available only if the operator granted `users`. */
export function createUsersForScripts({
  users,
  grants,
  throttle,
  audit,
  noteRefusal,
}: UsersForScriptsParts): UsersPort {
  function refuse(call: Call, message: string, outcome: 'refused' | 'throttled' = 'refused'): ScriptError {
    noteRefusal(call, message, outcome)
    return new ScriptError(message)
  }

  async function needGrant(call: Call, method: string): Promise<void> {
    if ((await grants.get(call.solution.name)).users) return
    throw refuse(call, `security.${method}: ${NOT_GRANTED}`)
  }

  async function needAdministrator(call: Call, method: string): Promise<void> {
    await needGrant(call, method)
    const { account, solution } = hostCall(call)
    const held = account?.source === 'users' ? await users.permissionsFor(account.uid, solution.name) : []
    if (!held.includes(ADMINISTRATORS)) {
      throw refuse(
        call,
        `security.${method} requires a signed-in user with the permission ${ADMINISTRATORS} in the users table`,
      )
    }
  }

  /**
   * Accounts are shared by all solutions. Without this check, an administrator of one solution could take over the
   * account of a user who has more permissions in another.
   */
  async function needWithinReach(call: Call, method: string, { permissions }: User): Promise<void> {
    const { account, solution } = hostCall(call)
    const administrator = account === null ? null : await users.get(account.uid)
    if (administrator?.permissions.includes(ADMINISTRATORS)) return
    if (permissions.every((one) => typeof one !== 'string' && one.solution === solution.name)) return
    throw refuse(
      call,
      `security.${method}: this user also has permissions outside this solution, so only a user with the permission ${ADMINISTRATORS} for all solutions can change it`,
    )
  }

  /** Counts the attempt before checking anything, like a sign-in on the login page. */
  async function countGuess<T>(call: Call, username: string, check: () => Promise<T | null>): Promise<T | null> {
    const attempt = { source: 'users', username, address: hostCall(call).address }
    const wait = await throttle.count(attempt, false)
    if (wait !== null) {
      throw refuse(call, `too many attempts for this account: try again in ${wait} s`, 'throttled')
    }
    try {
      const found = await checkCounted(throttle, attempt, false, check)
      if (found !== null) await throttle.succeeded(attempt, false)
      return found
    } catch (error) {
      if (!isSourceAway(error)) throw error
      throw new ScriptError('the directory that has the user’s password is unreachable: try again later')
    }
  }

  async function needUser(uid: string): Promise<User> {
    const user = await users.get(uid)
    if (user === null) throw new ScriptError(`there is no user with the uid "${uid.slice(0, 100)}"`)
    return user
  }

  function noteChange(
    call: Call,
    action: 'user-create' | 'user-change' | 'user-delete',
    changed: { readonly username: string },
  ): Promise<void> {
    const { account, solution, address, correlationId, user } = hostCall(call)
    const actor = account === null ? `solution:${solution.name}` : `user:${user?.username}`
    const target = userTarget(changed)
    return audit.record({ actor, action, target, solution: solution.name, outcome: 'ok', address, correlationId })
  }

  /**
   * Throws an error in English if a password was rejected. The message also contains the text's key, so that scripts
   * can show their own text.
   */
  function needAccepted(refusal: { readonly key: string; readonly values: readonly (string | number)[] } | null): void {
    if (refusal !== null) throw new ScriptError(`${refusal.key}: ${platformText('en', refusal.key, refusal.values)}`)
  }

  /**
   * Returns the user's permissions for the solution. If the solution lists its permissions, all others are left out,
   * because `security.login` doesn't accept them.
   */
  async function permissionsToGrant({ solution }: Call, uid: string): Promise<string[]> {
    const permissions = await users.permissionsFor(uid, solution.name)
    const listed = permissionsOf(solution)
    return listed === null ? permissions : permissions.filter((name) => listed.includes(name))
  }

  /**
   * Records that the users table accepted this user's password. If the same call then signs in this uid, the second
   * factors of that account apply.
   */
  function noteAuthenticated(call: Call, { uid, passwordChangedAt }: User): void {
    hostCall(call).effects.authenticated = { uid, passwordChangedAt }
  }

  return {
    async authenticate(call, username, password) {
      await needGrant(call, 'authenticate')
      const user = await countGuess(call, username, () => users.authenticate(username, password))
      if (user !== null) noteAuthenticated(call, user)
      return user === null ? null : { uid: user.uid, permissions: await permissionsToGrant(call, user.uid) }
    },
    async checkPassword(call, uid, password) {
      await needGrant(call, 'checkPassword')
      const user = await users.get(uid)
      const isRight = async () => ((await users.checkPassword(uid, password)) ? true : null)
      const isOwner = (await countGuess(call, user?.username ?? uid, isRight)) === true
      if (isOwner && user !== null) noteAuthenticated(call, user)
      return isOwner
    },
    async getUser(call, username) {
      await needGrant(call, 'getUser')
      const user = await users.find(username)
      if (user === null) return null
      const { uid, displayName, email, enabled } = user
      const permissions = await users.permissionsFor(uid, call.solution.name)
      return { uid, username: user.username, displayName, email, enabled, permissions }
    },
    async createUser(call, username, password) {
      await needAdministrator(call, 'createUser')
      const user = await forScript(() => users.create({ username, password }))
      await noteChange(call, 'user-create', user)
      return user.uid
    },
    async deleteUser(call, uid) {
      await needAdministrator(call, 'deleteUser')
      const user = await needUser(uid)
      await needWithinReach(call, 'deleteUser', user)
      await users.delete(uid)
      await noteChange(call, 'user-delete', user)
    },
    async setPassword(call, uid, password) {
      await needAdministrator(call, 'setPassword')
      const user = await needUser(uid)
      await needWithinReach(call, 'setPassword', user)
      needAccepted(await forScript(() => users.setPassword(uid, password)))
      await noteChange(call, 'user-change', user)
    },
    async addPermission(call, uid, name) {
      await needAdministrator(call, 'addPermission')
      const user = await needUser(uid)
      await forScript(() => users.addPermission(uid, { name, solution: call.solution.name }))
      await noteChange(call, 'user-change', user)
    },
    async removePermission(call, uid, name) {
      await needAdministrator(call, 'removePermission')
      const user = await needUser(uid)
      await forScript(() => users.removePermission(uid, { name, solution: call.solution.name }))
      await noteChange(call, 'user-change', user)
    },
  }
}

/** Throws errors from the users table as errors for the script, because the script's author or user can fix them. */
async function forScript<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isRefusal(error)) throw new ScriptError(error.message)
    throw error
  }
}
