import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'
import { createChecks } from './checks.guest.ts'

type Settings = { readonly permissions: readonly string[] | null }
type User = { username: string; uid: string; permissions: readonly string[] }
type Press = { readonly isConfirmed: boolean; readonly isConfirmedNow: boolean }
type State = {
  readonly signsIn: boolean
  readonly user: User | null
  readonly tenant: readonly (string | number)[] | null
  readonly methods: readonly string[]
  readonly press: Press | null
}

export default function security(api: GuestApi<Settings, State>) {
  const { needText, needCredential, optionalText, isName, needReason, readEvery, readPermissions, readTenant } =
    createChecks(api)
  /** Null if the manifests don't list permissions, so that any name can be granted. */
  let allowed: readonly string[] | null = null
  let signsIn = false
  let user: { username: string; uid: string; permissions: readonly string[] } | null = null
  let tenant: readonly (string | number)[] | null = null
  let loggedIn = false
  let methods: readonly string[] = []
  let press: Press | null = null
  let isAsked = false

  api.onLoad((settings) => {
    allowed = settings.permissions
  })
  api.onCall((state) => {
    signsIn = state.signsIn
    user = state.user
    tenant = state.tenant
    loggedIn = false
    methods = state.methods
    press = state.press
    isAsked = false
  })

  function refuse(why: string, method = 'login'): false {
    api.log('warn', `security.${method} returned false: ${why}`)
    return false
  }

  function unknownPermission(names: readonly string[]): string | null {
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      if (name === '' || (allowed !== null && !contains(allowed, name))) return name
    }
    return null
  }

  function contains(names: readonly string[], name: string): boolean {
    for (let index = 0; index < names.length; index++) if (names[index] === name) return true
    return false
  }

  /** Returns a copy to the script, so that changes to it have no effect here. */
  function copy<T>(values: readonly T[]): T[] {
    const created: T[] = []
    for (let index = 0; index < values.length; index++) created[index] = values[index] as T
    return created
  }

  /** Sends a request about the users table. Arguments of the wrong type throw synchronously, with the script's line. */
  function ask(method: string, names: readonly string[], values: readonly unknown[]): Promise<unknown> {
    for (let index = 0; index < names.length; index++) needText(values[index], `security.${method}: ${names[index]}`)
    return api.request(method, values)
  }

  async function done(asked: Promise<unknown>): Promise<void> {
    await asked
  }

  return {
    login(username: unknown, uid: unknown, permissions: unknown): boolean {
      const name = needText(username, 'security.login: username')
      const id = needText(uid, 'security.login: uid')
      const granted = readPermissions(permissions)
      if (!signsIn) return refuse('this function can be called only in an authenticator or on the login form')
      if (loggedIn) return refuse('a user was already signed in earlier in this call')
      if (!isName(name) || !isName(id))
        return refuse('username and uid must have 1 to 200 characters and no control characters')
      if (granted.length === 0) return refuse('the list of permissions is empty; pass at least one')
      const unknown = unknownPermission(granted)
      if (unknown !== null) return refuse(`the manifest does not list the permission "${unknown}"`)
      api.command('login', [name, id, granted])
      loggedIn = true
      user = { username: name, uid: id, permissions: granted }
      return true
    },
    requireSecondFactor(): boolean {
      if (!signsIn)
        return refuse(
          'this function can be called only in an authenticator or on the login form',
          'requireSecondFactor',
        )
      api.command('requireSecondFactor', [])
      return true
    },
    confirm(reason: unknown, options?: unknown): boolean {
      const text = needReason(reason)
      const every = readEvery(options)
      if (press === null) {
        throw new api.safe.Error('security.confirm can be called only in onAction functions and listeners')
      }
      if (user === null) throw new api.safe.Error('security.confirm: no user is signed in, so nobody can confirm')
      if (press.isConfirmedNow || (press.isConfirmed && !every)) return true
      if (!isAsked) api.command('confirm', [text, every])
      isAsked = true
      return false
    },
    getSignInMethods: (): string[] => copy(methods),
    logout(solution?: unknown, argument?: unknown): void {
      const target = optionalText(solution, 'security.logout: solution', 63)
      api.command('logout', [target, optionalText(argument, 'security.logout: argument', 2048)])
      user = null
      tenant = null
    },
    getUserName: (): string | null => (user === null ? null : user.username),
    getUserUID: (): string | null => (user === null ? null : user.uid),
    getUserPermissions: (): string[] => (user === null ? [] : copy(user.permissions)),
    getPermissions: (): string[] => (allowed === null ? [] : copy(allowed)),
    hasPermission(name: unknown): boolean {
      return user !== null && contains(user.permissions, needText(name, 'security.hasPermission: name'))
    },
    setTenantValue(value: unknown): void {
      const read = readTenant(value)
      api.command('setTenantValue', [read])
      tenant = read
    },
    getTenantValue: (): (string | number)[] | null => (tenant === null ? null : copy(tenant)),
    authenticate: (username: unknown, password: unknown) =>
      ask('authenticate', ['username', 'password'], [username, password]),
    checkPassword: (uid: unknown, password: unknown) => ask('checkPassword', ['uid', 'password'], [uid, password]),
    checkPasswordHash(password: unknown, hash: unknown): Promise<unknown> {
      needCredential(password, 'security.checkPasswordHash: password')
      if (hash !== null) needCredential(hash, 'security.checkPasswordHash: hash')
      return api.request('checkPasswordHash', [password, hash])
    },
    hashPassword(password: unknown): Promise<unknown> {
      return api.request('hashPassword', [needCredential(password, 'security.hashPassword: password')])
    },
    getUser: (username: unknown) => ask('getUser', ['username'], [username]),
    createUser: (username: unknown, password: unknown) =>
      ask('createUser', ['username', 'password'], [username, password]),
    deleteUser: (uid: unknown) => done(ask('deleteUser', ['uid'], [uid])),
    setPassword: (uid: unknown, password: unknown) => done(ask('setPassword', ['uid', 'password'], [uid, password])),
    addPermission: (uid: unknown, name: unknown) => done(ask('addPermission', ['uid', 'name'], [uid, name])),
    removePermission: (uid: unknown, name: unknown) => done(ask('removePermission', ['uid', 'name'], [uid, name])),
  }
}
