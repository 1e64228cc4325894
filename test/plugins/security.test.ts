import { afterAll, expect, test } from 'vitest'
import { createScriptLab } from '../support/solutions.ts'

const lab = createScriptLab({ manifest: { permissions: ['Users', 'Administrators'] } })
const open = createScriptLab()
afterAll(() => {
  lab.stop()
  open.stop()
})

const login = (call: string) => `function onSolutionOpen() { ${call} }`

test('security.login: an accepted login is the effect of the call', async () => {
  const { effects, failure } = await lab.run({ script: login("security.login('anna', 'a-1', ['Users'])") })
  expect(failure).toBeNull()
  expect(effects.login).toEqual({ username: 'anna', uid: 'a-1', permissions: ['Users'] })
})

test('security.login: the first accepted login of a call wins and the second returns false', async () => {
  const script = `function onSolutionOpen() {
    return JSON.stringify({ first: security.login('anna', 'a-1', ['Users']), second: security.login('eve', 'e', ['Users']), name: security.getUserName() })
  }`
  const { effects, values } = await lab.run({ script })
  expect(values).toEqual({ first: true, second: false, name: 'anna' })
  expect(effects.login?.username).toBe('anna')
})

test('security.login: an empty list and a name that the manifest does not list return false and log why', async () => {
  const script = `function onSolutionOpen() {
    return JSON.stringify([security.login('a', 'b', []), security.login('a', 'b', ['Users', 'Root'])])
  }`
  const { effects, log } = await lab.run({ script })
  expect(effects.login).toBeNull()
  expect(log.map(({ message }) => message)).toEqual([
    'security.login returned false: the list of permissions is empty',
    'security.login returned false: the manifest lists no permission "Root"',
    expect.stringContaining('onSolutionOpen returned a text that is no JSON object'),
  ])
})

test('security.login: where no manifest lists permissions any name may be granted', async () => {
  const { effects } = await open.run({ script: login("security.login('anna', 'a-1', ['__proto__', 'constructor'])") })
  expect(effects.login?.permissions).toEqual(['__proto__', 'constructor'])
})

test.each([
  ["security.login(5, 'x', ['Users'])", 'security.login: username must be a string, but is number'],
  ["security.login('x', null, ['Users'])", 'security.login: uid must be a string, but is null'],
  ["security.login('x', 'y', 'Users')", 'security.login: permissions must be an array of strings'],
  ["security.login('x', 'y', ['Users', , 5])", 'security.login: permissions[1] must be a string, but is undefined'],
])('security.login: %s is a TypeError with a position', async (call, message) => {
  const { failure } = await lab.run({ script: `\n${login(call)}` })
  expect(failure).toMatchObject({
    code: 'script_error',
    message: `TypeError: ${message}`,
    position: { file: 'modules/auth/globals.js', line: 2 },
  })
})

test.each(['', 'a\\r\\nSet-Cookie: x=y', '\\u0000', '\\ud800', '\\u202eadmin'])(
  'security.login: the user name "%s" is refused',
  async (name) => {
    const { effects, failure } = await lab.run({
      script: login(`security.login('${name}', 'u', ['Users'])`),
      evaluated: true,
    })
    expect(failure).toBeNull()
    expect(effects.login).toBeNull()
  },
)

test('security.login: more permissions than the limit end the call as script_quota with limit and amount', async () => {
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

test('security: while scripts load there is no login and no effect, and the position is told', async () => {
  const early = await lab.run({
    script:
      "const ok = security.login('a', 'b', ['Users']); function onSolutionOpen() { return JSON.stringify({ ok }) }",
  })
  expect([early.values.ok, early.effects.login]).toEqual([false, null])
  const { failure } = await lab.run({ script: "\nsecurity.setTenantValue('x'); function onSolutionOpen() {}" })
  expect(failure).toMatchObject({
    code: 'script_error',
    message: 'Error: security.setTenantValue works in a call such as onSolutionOpen, not while scripts load',
    position: { file: 'modules/auth/globals.js', line: 2 },
  })
})

test('security: getters show the pending values of the call', async () => {
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

test('security: an open solution sees the user of its session', async () => {
  const user = { username: 'anna', uid: 'a-1', permissions: ['Users'], tenant: ['acme'] }
  const value = await lab.evaluate(
    "return [security.getUserName(), security.getUserUID(), security.hasPermission('Users'), security.getTenantValue()]",
    { kind: 'open', user },
  )
  expect(value).toEqual(['anna', 'a-1', true, ['acme']])
})

test.each(['{}', '[]', 'null', '[{}]', 'NaN', "'x'.repeat(201)"])(
  'security.setTenantValue: %s is a TypeError',
  async (value) => {
    const { failure } = await lab.run({ script: login(`security.setTenantValue(${value})`), evaluated: true })
    expect(failure?.message).toMatch(/^TypeError: security\.setTenantValue/)
  },
)

test('security: without an accepted login tenant and logout have no effect, but locale and showURL have', async () => {
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
