import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

type Settings = { readonly permissions: readonly string[] | null }
type User = {
  username: string
  uid: string
  permissions: readonly string[]
  tenant: readonly (string | number)[] | null
}
type State = { readonly kind: 'login' | 'open' | 'configuration'; readonly user: User | null }

export default function security(api: GuestApi<Settings, State>) {
  const { safe, limits } = api
  /** null: the manifests list no permissions, so any name can be granted. */
  let allowed: readonly string[] | null = null
  let kind: State['kind'] = 'open'
  let user: { username: string; uid: string; permissions: readonly string[] } | null = null
  let tenant: readonly (string | number)[] | null = null
  let loggedIn = false

  api.onLoad((settings) => {
    allowed = settings.permissions
  })
  api.onCall((state) => {
    kind = state.kind
    user = state.user
    tenant = state.user === null ? null : state.user.tenant
    loggedIn = false
  })

  function refuse(why: string): false {
    api.log('warn', `security.login returned false: ${why}`)
    return false
  }

  function needText(value: unknown, what: string): string {
    if (typeof value === 'string') return value
    throw new safe.TypeError(`${what} must be a string, but is ${value === null ? 'null' : typeof value}`)
  }

  /** Limits the length, since hashing time grows with it. */
  function needCredential(value: unknown, what: string): string {
    const text = needText(value, what)
    if (text.length <= 1000) return text
    throw new safe.TypeError(`${what} may have at most 1000 characters`)
  }

  /** Reads each element once, so that a getter cannot return a different value after the check. */
  function readPermissions(value: unknown): string[] {
    if (!safe.isArray(value)) throw new safe.TypeError('security.login: permissions must be an array of strings')
    const count = api.lengthOf(value)
    const most = limits.PERMISSIONS as number
    if (count > most) throw api.quotaError('PERMISSIONS', most, count)
    const read = api.list<string>()
    for (let index = 0; index < count; index++) {
      const name = needText(value[index], `security.login: permissions[${index}]`)
      const longest = limits.PERMISSION_LENGTH as number
      if (name.length > longest) throw api.quotaError('PERMISSION_LENGTH', longest, name.length)
      if (!isVisible(name)) {
        const wish = `1 to ${longest} visible characters without space around them`
        throw new safe.TypeError(`security.login: permissions[${index}] must be ${wish}`)
      }
      read[index] = name
    }
    return read
  }

  function isName(text: string): boolean {
    return text.length > 0 && text.length <= 200 && isPlain(text)
  }

  /** No control characters, no bidirectional formatting characters, no lone surrogates. */
  function isPlain(text: string): boolean {
    const odd = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/
    return safe.isWellFormed(text) && safe.match(odd, text) === null
  }

  /** The same rule as `runtime/visible-name.ts`. */
  function isVisible(text: string): boolean {
    const odd = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}|^\s|\s$/u
    return safe.match(odd, text) === null
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

  /** A copy for the script, so that changes to it have no effect here. */
  function copy<T>(values: readonly T[]): T[] {
    const made: T[] = []
    for (let index = 0; index < values.length; index++) made[index] = values[index] as T
    return made
  }

  function readTenant(value: unknown): (string | number)[] {
    const read = api.list<string | number>()
    const given = safe.isArray(value) ? value : [value]
    const count = api.lengthOf(given)
    if (count === 0 || count > 100) throw new safe.TypeError('security.setTenantValue: give 1 to 100 values')
    for (let index = 0; index < count; index++) {
      const one: unknown = given[index]
      const text = typeof one === 'string' && one.length <= 200 && safe.isWellFormed(one)
      if (!text && !(typeof one === 'number' && safe.isFinite(one))) {
        throw new safe.TypeError(
          'security.setTenantValue: each value must be a number or a string of at most 200 characters',
        )
      }
      read[index] = one as string | number
    }
    return read
  }

  /** Calls the users table. Wrong types throw synchronously, with the script's line. */
  function ask(method: string, names: readonly string[], values: readonly unknown[]): Promise<unknown> {
    for (let index = 0; index < names.length; index++) needText(values[index], `security.${method}: ${names[index]}`)
    return api.request(method, values)
  }

  async function done(asked: Promise<unknown>): Promise<void> {
    await asked
  }

  function optionalText(value: unknown, what: string, longest: number): string | null {
    if (value === undefined || value === null) return null
    if (needText(value, what).length <= longest) return value as string
    throw new safe.TypeError(`${what} may have at most ${longest} characters`)
  }

  return {
    login(username: unknown, uid: unknown, permissions: unknown): boolean {
      const name = needText(username, 'security.login: username')
      const id = needText(uid, 'security.login: uid')
      const granted = readPermissions(permissions)
      if (kind !== 'login') return refuse('it works in an authenticator')
      if (loggedIn) return refuse('this call has logged a user in already')
      if (!isName(name) || !isName(id))
        return refuse('user name and uid need 1 to 200 characters without control characters')
      if (granted.length === 0) return refuse('the list of permissions is empty')
      const unknown = unknownPermission(granted)
      if (unknown !== null) return refuse(`the manifest lists no permission "${unknown}"`)
      api.command('login', [name, id, granted])
      loggedIn = true
      user = { username: name, uid: id, permissions: granted }
      return true
    },
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
