import { afterAll, expect, test } from 'vitest'
import security, { type SecurityPorts } from '../../plugins/security/host.ts'
import { createLimits } from '../../runtime/limits.ts'
import { type Call, ScriptError, type SolutionFacts } from '../../runtime/plugin.ts'
import { createScriptLab } from '../support/solutions.ts'

const lab = createScriptLab({ manifest: { permissions: ['Users', 'Administrators'] } })
const open = createScriptLab()
const asked: unknown[][] = []
const hashing = createScriptLab({
  needs: {
    passwordHashes: {
      check: async (_call, password, hash) => {
        asked.push([password, hash])
        if (hash === 'odd') throw new ScriptError('the hash is odd')
        return password === hash
      },
      hash: async (_call, password) => `hash of ${password}`,
    },
  },
})
afterAll(() => {
  lab.stop()
  open.stop()
  hashing.stop()
})

const login = (call: string) => `function onSolutionOpen() { ${call} }`

test('security.getPermissions: it returns all names that the manifests list, as an array from the script realm', async () => {
  const body = `const all = security.getPermissions(); all.push('Root'); return [all, security.getPermissions()]`
  expect(await lab.evaluate(body)).toEqual([
    ['Users', 'Administrators', 'Root'],
    ['Users', 'Administrators'],
  ])
  expect(await open.evaluate('return security.getPermissions()')).toEqual([])
})

test('security.login: an accepted login is the effect of the call', async () => {
  const { effects, failure } = await lab.run({ script: login("security.login('anna', 'a-1', ['Users'])") })
  expect(failure).toBeNull()
  expect(effects.login).toEqual({ username: 'anna', uid: 'a-1', permissions: ['Users'] })
})

test('security.login: only the first accepted login in a call takes effect; the second returns false', async () => {
  const script = `function onSolutionOpen() {
    return JSON.stringify({ first: security.login('anna', 'a-1', ['Users']), second: security.login('eve', 'e', ['Users']), name: security.getUserName() })
  }`
  const { effects, values } = await lab.run({ script })
  expect(values).toEqual({ first: true, second: false, name: 'anna' })
  expect(effects.login?.username).toBe('anna')
})

test('security.login: an empty list and an unlisted name return false and log the reason', async () => {
  const script = `function onSolutionOpen() {
    return JSON.stringify([security.login('a', 'b', []), security.login('a', 'b', ['Users', 'Root'])])
  }`
  const { effects, log } = await lab.run({ script })
  expect(effects.login).toBeNull()
  expect(log.map(({ message }) => message)).toEqual([
    'security.login returned false: the list of permissions is empty; pass at least one',
    'security.login returned false: the manifest does not list the permission "Root"',
    expect.stringContaining('onSolutionOpen returned a string that is not a JSON object'),
  ])
})

test('security.login: if no manifest lists permissions, any name can be granted', async () => {
  const { effects } = await open.run({ script: login("security.login('anna', 'a-1', ['__proto__', 'constructor'])") })
  expect(effects.login?.permissions).toEqual(['__proto__', 'constructor'])
})

test.each([
  ["security.login(5, 'x', ['Users'])", 'security.login: username must be a string, but is number'],
  ["security.login('x', null, ['Users'])", 'security.login: uid must be a string, but is null'],
  ["security.login('x', 'y', 'Users')", 'security.login: permissions must be an array of strings'],
  ["security.login('x', 'y', ['Users', , 5])", 'security.login: permissions[1] must be a string, but is undefined'],
])('security.login: %s causes a TypeError with a position', async (call, message) => {
  const { failure } = await lab.run({ script: `\n${login(call)}` })
  expect(failure).toMatchObject({
    code: 'script_error',
    message: `TypeError: ${message}`,
    position: { file: 'modules/auth/globals.js', line: 2 },
  })
})

test.each(['', 'a\\r\\nSet-Cookie: x=y', '\\u0000', '\\ud800', '\\u202eadmin'])(
  'security.login: the username "%s" is rejected',
  async (name) => {
    const { effects, failure } = await lab.run({
      script: login(`security.login('${name}', 'u', ['Users'])`),
      evaluated: true,
    })
    expect(failure).toBeNull()
    expect(effects.login).toBeNull()
  },
)

test('security.login: more permissions than the limit end the call with script_quota, the limit and the count', async () => {
  const script = login("security.login('a', 'b', Array.from({ length: 1001 }, (_, n) => 'p' + n))")
  const { failure } = await open.run({ script })
  expect(failure).toMatchObject({ code: 'script_quota', limit: { name: 'PERMISSIONS', allowed: 1000, used: 1001 } })
})

test('security.login: it returns false outside an authenticator', async () => {
  const script = "function onSolutionOpen() { return JSON.stringify({ ok: security.login('a', 'b', ['Users']) }) }"
  const { effects, values } = await lab.run({ script, kind: 'open' })
  expect(values).toEqual({ ok: false })
  expect(effects.login).toBeNull()
})

test('security: while scripts are loading, login and effects are unavailable, and the error has its position', async () => {
  const early = await lab.run({
    script:
      "const ok = security.login('a', 'b', ['Users']); function onSolutionOpen() { return JSON.stringify({ ok }) }",
  })
  expect([early.values.ok, early.effects.login]).toEqual([false, null])
  const { failure } = await lab.run({ script: "\nsecurity.setTenantValue('x'); function onSolutionOpen() {}" })
  expect(failure).toMatchObject({
    code: 'script_error',
    message:
      'Error: security.setTenantValue can be used only in a function such as onSolutionOpen, not while scripts load',
    position: { file: 'modules/auth/globals.js', line: 2 },
  })
})

test('security: getters return the call’s pending values', async () => {
  const script = `function onSolutionOpen() {
    const before = [security.getUserName(), security.getUserPermissions(), security.getTenantValue(), security.hasPermission('Users')]
    security.login('anna', 'a-1', ['Users'])
    security.setTenantValue(['acme', -1])
    security.getUserPermissions().push('Administrators')
    return JSON.stringify({ before, after: [security.getUserName(), security.getUserUID(), security.getUserPermissions(), security.getTenantValue(), security.hasPermission('Users'), security.hasPermission('Administrators')] })
  }`
  const { values, effects } = await lab.run({ script })
  expect(values).toEqual({
    before: [null, [], null, false],
    after: ['anna', 'a-1', ['Users'], ['acme', -1], true, false],
  })
  expect(effects.tenant).toEqual(['acme', -1])
})

test('security: scripts of an open solution see the session’s user', async () => {
  const user = { username: 'anna', uid: 'a-1', permissions: ['Users'], tenant: ['acme'] }
  const value = await lab.evaluate(
    "return [security.getUserName(), security.getUserUID(), security.hasPermission('Users'), security.getTenantValue()]",
    { kind: 'open', user },
  )
  expect(value).toEqual(['anna', 'a-1', true, ['acme']])
})

test.each(['{}', '[]', 'null', '[{}]', 'NaN', "'x'.repeat(201)"])(
  'security.setTenantValue: %s causes a TypeError',
  async (value) => {
    const { failure } = await lab.run({ script: login(`security.setTenantValue(${value})`), evaluated: true })
    expect(failure?.message).toMatch(/^TypeError: security\.setTenantValue/)
  },
)

test('security: if no login is accepted, tenant and logout have no effect, but locale and showURL do', async () => {
  const script = login(
    "security.setTenantValue('acme'); security.logout(); i18n.setLocale('nl'); application.showURL('/x')",
  )
  const { effects } = await lab.run({ script })
  expect(effects).toMatchObject({ login: null, tenant: null, logout: null, locale: 'nl', showUrl: '/x' })
})

test('security: a call that throws after a login has no effects', async () => {
  const { effects, failure } = await lab.run({
    script: login("security.login('a', 'b', ['Users']); throw new Error('no')"),
  })
  expect(failure?.code).toBe('script_error')
  expect(effects.login).toBeNull()
})

test('security.requireSecondFactor: it is the effect of a call that signs in a user, in either order', async () => {
  const results: unknown[] = []
  for (const order of ['security.requireSecondFactor(), IN', 'IN, security.requireSecondFactor()']) {
    const value = order.replace('IN', "security.login('anna', 'a-1', ['Users'])")
    const { values, effects } = await lab.run({ script: login(`return JSON.stringify({ value: [${value}] })`) })
    results.push([values.value, effects.needsSecondFactor, effects.login?.uid])
  }
  expect(results).toEqual([
    [[true, true], true, 'a-1'],
    [[true, true], true, 'a-1'],
  ])
  const plain = await lab.run({ script: login("security.login('anna', 'a-1', ['Users'])") })
  expect(plain.effects.needsSecondFactor).toBeUndefined()
  const refused = await lab.run({ script: login("security.requireSecondFactor(); security.login('anna', 'a-1', [])") })
  expect([refused.effects.needsSecondFactor, refused.effects.login]).toEqual([undefined, null])
})

test('security.requireSecondFactor: it returns false outside an authenticator, and a forged command has no effect', async () => {
  const script = 'function onSolutionOpen() { return JSON.stringify({ ok: security.requireSecondFactor() }) }'
  const { values, effects, log } = await lab.run({ script, kind: 'open' })
  expect([values, effects.needsSecondFactor]).toEqual([{ ok: false }, undefined])
  expect(log.map(({ message }) => message)).toEqual([
    'security.requireSecondFactor returned false: this function can be called only in an authenticator or on the login form',
  ])
  const required: string[] = []
  const { commands } = security(
    { requireSecondFactor: ({ kind }: Call) => void required.push(kind) } as Partial<SecurityPorts> as SecurityPorts,
    createLimits(),
  )
  for (const kind of ['open', 'configuration', 'login'] as const) {
    commands.requireSecondFactor?.apply({ kind } as Call, [])
  }
  expect(required).toEqual(['login'])
  expect(() => commands.requireSecondFactor?.check([false], {} as SolutionFacts)).toThrow()
})

test('security.confirm: arguments of the wrong type throw a TypeError, and a forged command outside of a press has no effect', async () => {
  const refused = [
    '',
    '1',
    'undefined',
    "''",
    "'x'.repeat(201)",
    "'a\\u202eb'",
    "'Pay', 'every'",
    "'Pay', { every: 1 }",
  ]
  const thrown: unknown[] = []
  for (const given of refused) {
    thrown.push(await open.evaluate(`try { security.confirm(${given}) } catch (error) { return error.name }`))
  }
  expect(thrown).toEqual(refused.map(() => 'TypeError'))
  const asked: unknown[] = []
  const user = { username: 'anna', uid: 'a-1', permissions: [], tenant: null }
  const press = { isConfirmed: false, isConfirmedNow: false }
  for (const [givenPress, givenUser] of [
    [null, user],
    [press, null],
    [press, user],
  ]) {
    const ports = {
      press: () => givenPress,
      user: () => givenUser,
      confirm: (_: Call, one: unknown) => asked.push(one),
    }
    const { commands } = security(ports as Partial<SecurityPorts> as SecurityPorts, createLimits())
    commands.confirm?.apply({ kind: 'open' } as Call, ['Pay', true])
    for (const args of [['', true], ['x'.repeat(201), true], ['Pay'], ['Pay', 1], ['a\nb', true]]) {
      expect(() => commands.confirm?.check(args, {} as SolutionFacts)).toThrow()
    }
  }
  expect(asked).toEqual([{ reason: 'Pay', every: true }])
})

test('security.checkPasswordHash and hashPassword: they return the host’s result, and throw an Error if it rejects the call', async () => {
  asked.length = 0
  const script = `async function onSolutionOpen() {
    const refusal = await security.checkPasswordHash('x', 'odd').catch((error) => error.message)
    return JSON.stringify({ value: [await security.checkPasswordHash('a', 'a'), await security.checkPasswordHash('a', 'b'),
      await security.checkPasswordHash('a', null), await security.hashPassword('a'), refusal] })
  }`
  const { values } = await hashing.run({ script })
  expect(values).toEqual({ value: [true, false, false, 'hash of a', 'the hash is odd'] })
  expect(asked).toEqual([
    ['x', 'odd'],
    ['a', 'a'],
    ['a', 'b'],
    ['a', null],
  ])
})

test.each([
  ["checkPasswordHash(1, 'a')", 'security.checkPasswordHash: password must be a string, but is number'],
  ["checkPasswordHash('a')", 'security.checkPasswordHash: hash must be a string, but is undefined'],
  ["checkPasswordHash('a', {})", 'security.checkPasswordHash: hash must be a string, but is object'],
  ["checkPasswordHash('a'.repeat(1001), 'b')", 'security.checkPasswordHash: password may have at most 1000 characters'],
  ["checkPasswordHash('a', 'b'.repeat(1001))", 'security.checkPasswordHash: hash may have at most 1000 characters'],
  ['hashPassword()', 'security.hashPassword: password must be a string, but is undefined'],
  ["hashPassword('a'.repeat(1001))", 'security.hashPassword: password may have at most 1000 characters'],
])('security.%s causes a TypeError, and the host is not called', async (call, message) => {
  asked.length = 0
  const body = `try { security.${call} } catch (error) { return [error instanceof TypeError, error.message] }`
  expect(await hashing.evaluate(body)).toEqual([true, message])
  expect(asked).toEqual([])
})

test('security.checkPasswordHash and hashPassword: the host checks lengths and types again', () => {
  const ports = { users: {}, passwordHashes: {} } as unknown as SecurityPorts
  const { requests = {} } = security(ports, createLimits())
  const { checkPasswordHash, hashPassword } = requests
  expect(() => checkPasswordHash?.check(['a', 'b'.repeat(1001)])).toThrow()
  expect(() => checkPasswordHash?.check(['a'.repeat(1001), 'b'])).toThrow()
  expect(() => checkPasswordHash?.check(['a', 1])).toThrow()
  expect(() => hashPassword?.check(['a'.repeat(1001)])).toThrow()
  expect(checkPasswordHash?.check(['a', null])).toEqual(['a', null])
  expect([checkPasswordHash?.changes, hashPassword?.changes]).toEqual([false, false])
})
