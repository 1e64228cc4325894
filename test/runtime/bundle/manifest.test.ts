import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkManifest, ManifestSchema, manifestJsonSchema } from '../../../runtime/bundle/manifest.ts'

const LEAST = { name: 'crm', version: '1.0.0' }
const FILE = 'solution.json'

function check(extra: Record<string, unknown>) {
  return checkManifest({ ...LEAST, ...extra }, FILE)
}

function messagesOf(extra: Record<string, unknown>): string[] {
  return check(extra).faults.map(({ code, message }) => `${code}: ${message}`)
}

test('manifest: omitted settings get their defaults', () => {
  expect(checkManifest(LEAST, FILE)).toEqual({
    manifest: {
      name: 'crm',
      title: 'crm',
      version: '1.0.0',
      type: 'solution',
      authenticator: 'DEFAULT',
      loginForm: null,
      loginSolution: null,
      firstForm: null,
      modules: [],
      eventTypes: {},
      permissions: [],
      signIn: null,
      oauth: null,
      databases: {},
      endpoints: {},
      jobs: {},
      http: [],
      listed: true,
      realm: 'fresh',
    },
    faults: [],
    warnings: [],
  })
})

test('manifest: settings that the author writes are kept', () => {
  const written = {
    title: 'Kunden & Käufe',
    type: 'solution',
    authenticator: 'AUTHENTICATOR',
    loginForm: 'login',
    firstForm: 'orders',
    modules: ['auth', 'base'],
    permissions: ['Administrators'],
    signIn: { secondFactor: 'required', requiredFor: ['Administrators'] },
    listed: false,
    oauth: { api: 'Google', clientId: 'id', apiSecret: '%%SECRET%%', prompt: 'consent', max_age: 5, strict: true },
  }
  const { manifest, faults } = check({
    ...written,
    $schema: './schema.json',
    eventTypes: { onSale: { description: 'sold', arguments: [{ name: 'id', type: 'string' }] }, onEmpty: {} },
    databases: { crm: { server: 'alpha', database: 'crm' }, own: { server: 'embedded' } },
    http: ['API.example.org', 'api.example.org:8443', '[::1]:8080', '10.0.0.1'],
  })
  expect(faults).toEqual([])
  expect(manifest).toEqual({
    ...LEAST,
    ...written,
    endpoints: {},
    jobs: {},
    realm: 'fresh',
    loginSolution: null,
    eventTypes: {
      onSale: { description: 'sold', arguments: [{ name: 'id', type: 'string' }], returnType: null },
      onEmpty: { description: null, arguments: [], returnType: null },
    },
    databases: { crm: { server: 'alpha', database: 'crm' }, own: { server: 'embedded', database: null } },
    http: ['api.example.org', 'api.example.org:8443', '[::1]:8080', '10.0.0.1'],
  })
})

test.each([
  [{}, 'DEFAULT', 0],
  [{ mustAuthenticate: true }, 'DEFAULT', 1],
  [{ mustAuthenticate: false }, 'NONE', 1],
  [{ mustAuthenticate: false, authenticator: 'DEFAULT' }, 'DEFAULT', 1],
  [{ mustAuthenticate: true, authenticator: 'NONE' }, 'NONE', 1],
  [{ authenticator: 'OAUTH PROVIDER' }, 'OAUTH', 0],
  [{ authenticator: 'OAUTH' }, 'OAUTH', 0],
  [{ authenticator: 'OAUTH_AUTHENTICATOR' }, 'OAUTH_AUTHENTICATOR', 0],
  [{ authenticator: 'PLATFORM_CLOUD' }, 'PLATFORM_CLOUD', 0],
  [{ loginSolution: 'login' }, 'DEFAULT', 1],
])('manifest: %o has the sign-in mode %s and %i warnings', (extra, mode, warnings) => {
  const checked = check(extra)
  expect(checked.manifest?.authenticator).toBe(mode)
  expect(checked.warnings.map(({ code }) => code)).toEqual(Array(warnings).fill('manifest_deprecated'))
})

test.each([
  [{ titel: 'x' }, 'the manifest has an unknown property "titel"; did you mean "title"?'],
  [{ loginform: 'x' }, 'the manifest has an unknown property "loginform"; did you mean "loginForm"?'],
  [{ modul: [] }, 'the manifest has an unknown property "modul"; did you mean "modules"?'],
  [
    { eventTypes: { onA: { retrunType: 'x' } } },
    '"eventTypes.onA" has an unknown property "retrunType"; did you mean "returnType"?',
  ],
  [
    { eventTypes: { onA: { arguments: [{ name: 'a', type: 'b', tpe: 'c' }] } } },
    '"eventTypes.onA.arguments.0" has an unknown property "tpe"; did you mean "type"?',
  ],
  [
    { databases: { crm: { server: 'alpha', sever: 'x' } } },
    '"databases.crm" has an unknown property "sever"; did you mean "server"?',
  ],
  [
    { signIn: { secondFactor: 'required', graceDays: 30 } },
    '"signIn" has an unknown property "graceDays"; the allowed properties are secondFactor, requiredFor',
  ],
  [
    { ['x'.repeat(100)]: 1 },
    `the manifest has an unknown property "${'x'.repeat(100)}"; the allowed properties are ${Object.keys(ManifestSchema.shape).join(', ')}`,
  ],
])('manifest: the error for the unknown key in %o suggests the nearest known one, or lists all', (extra, message) => {
  expect(messagesOf(extra)).toEqual([`manifest_unknown_key: ${message}`])
})

test('manifest: every error is listed, one per location', () => {
  const codes = checkManifest({ name: 'A B', colour: 1, listed: 'yes', permissions: ['', 5] }, FILE).faults
  expect(codes.map(({ code, message }) => `${code} ${message.split(' ')[0]}`)).toEqual([
    'manifest_invalid "name"',
    'manifest_invalid "version"',
    'manifest_invalid "permissions.0"',
    'manifest_invalid "permissions.1"',
    'manifest_invalid "listed"',
    'manifest_unknown_key the',
  ])
})

test('manifest: an error message says what was expected and quotes the actual value', () => {
  expect(messagesOf({ listed: 'yes' })).toEqual(['manifest_invalid: "listed" must be true or false, not "yes"'])
  expect(messagesOf({ version: undefined })).toEqual([
    'manifest_invalid: "version" is missing; it must be a semantic version such as 1.0.0',
  ])
  expect(messagesOf({ title: 'x'.repeat(201) })[0]).toContain('at most 200 characters')
})

test('manifest: requiredFor is refused at a level that does not require a second factor', () => {
  expect(messagesOf({ signIn: { secondFactor: 'optional', requiredFor: ['Administrators'] } })).toEqual([
    'manifest_invalid: "signIn.requiredFor" requires "secondFactor" to be "required" or "passkey"',
  ])
  expect(check({ signIn: { secondFactor: 'optional' } }).manifest?.signIn).toEqual({
    secondFactor: 'optional',
    requiredFor: null,
  })
})

test('manifest: a secret or unknown parameter in oauth is never quoted', () => {
  const oauth = { api: 'Google', clientId: 'id', apiSecret: ['hunter2'], further: { key: 'hunter2' } }
  const text = JSON.stringify([check({ oauth }), check({ oauth: { ...oauth, apiSecret: 'hunter2\n', further: 1 } })])
  expect(text).not.toContain('hunter2')
})

test.each(['a', '0', 'a-b', 'crm2', 'a'.repeat(63), 'ab-cd', 'a--b'])('manifest: the name "%s" is allowed', (name) => {
  expect(check({ name }).faults).toEqual([])
})

test.each(['', '-a', 'a-', 'A', 'a_b', 'a.b', 'xn--abc', 'ab--c', 'a'.repeat(64), 'é', 'a\n', '..', 5, null, ['a']])(
  'manifest: the name %o is rejected',
  (name) => {
    expect(check({ name }).faults.map(({ code }) => code)).toEqual(['manifest_invalid'])
  },
)

const WRONG: readonly Record<string, unknown>[] = [
  { version: '1.0' },
  { version: '01.0.0' },
  { version: '1.0.0-' },
  { version: 1 },
  { version: `1.0.0-${'a'.repeat(100)}` },
  { type: 'plugin' },
  { type: ['solution'] },
  { authenticator: 'none' },
  { authenticator: true },
  { authenticator: { toString: 'NONE' } },
  { mustAuthenticate: 'false' },
  { mustAuthenticate: 0 },
  { loginForm: '../login' },
  { loginForm: '' },
  { firstForm: null },
  { modules: 'auth' },
  { modules: { 0: 'auth', length: 1 } },
  { modules: [['auth']] },
  { modules: ['../auth'] },
  { modules: ['a', 'a'] },
  { modules: Array.from({ length: 1001 }, (_, index) => `m${index}`) },
  { eventTypes: [] },
  { eventTypes: { 'on-sale': {} } },
  { eventTypes: { onShow: {} } },
  { eventTypes: { toString: {} } },
  { eventTypes: { onA: null } },
  { eventTypes: { onA: { arguments: [{ name: 'a' }] } } },
  { eventTypes: { onA: { arguments: Array(51).fill({ name: 'a', type: 'b' }) } } },
  { eventTypes: { onA: { description: 'x'.repeat(2001) } } },
  { permissions: ['a', 'a'] },
  { permissions: ['a\u0007'] },
  { permissions: ['a'.repeat(201)] },
  { permissions: { a: true } },
  { signIn: 'required' },
  { signIn: {} },
  { signIn: { secondFactor: 'off' } },
  { signIn: { secondFactor: true } },
  { signIn: { secondFactor: 'required', requiredFor: 'Administrators' } },
  { signIn: { secondFactor: 'required', requiredFor: [] } },
  { signIn: { secondFactor: 'required', requiredFor: ['a', 'a'] } },
  { signIn: { secondFactor: 'required', requiredFor: [' a'] } },
  { signIn: { secondFactor: 'optional', requiredFor: ['Administrators'] } },
  { oauth: 'Google' },
  { oauth: { clientId: 'x' } },
  { oauth: { api: 'google', clientId: 'x' } },
  { oauth: { api: 'Google' } },
  { oauth: { api: 'Google', clientId: 'x', jwks_uri: 'javascript:alert(1)' } },
  { oauth: { api: 'Google', clientId: 'x', login_failed_url: '//evil.example' } },
  { oauth: { api: 'Google', clientId: 'x', prompt: null } },
  { oauth: { api: 'Google', clientId: 'x', prompt: ['a'] } },
  { oauth: { api: 'Google', clientId: 'x', 'a b': 'c' } },
  { oauth: { api: 'Custom', clientId: 'x' } },
  { databases: { crm: { server: 'oracle' } } },
  { databases: { crm: {} } },
  { databases: { crm: 'alpha' } },
  { databases: { 'a b': { server: 'alpha' } } },
  { databases: { valueOf: { server: 'alpha' } } },
  { http: ['https://example.org'] },
  { http: ['example.org/path'] },
  { http: ['example.org:0'] },
  { http: ['example.org:65536'] },
  { http: ['*.example.org'] },
  { http: ['user@example.org'] },
  { http: ['[1::2::3]'] },
  { listed: 'false' },
  { listed: null },
]

test.each(WRONG.map((extra) => [extra] as const))('manifest: %o is rejected with manifest_invalid', (extra) => {
  expect(check(extra).faults.map(({ code }) => code)).toEqual(['manifest_invalid'])
})

test('manifest: Custom requires an issuer or three endpoints, or two endpoints if no code is exchanged', () => {
  const two = { authorizationBaseUrl: 'https://id.example/authorize', jwks_uri: 'https://id.example/keys' }
  const custom = { api: 'Custom', clientId: 'x' }
  expect(check({ oauth: { ...custom, issuer: 'https://id.example' } }).faults).toEqual([])
  expect(check({ oauth: { ...custom, ...two } }).faults).toHaveLength(1)
  expect(check({ oauth: { ...custom, ...two, accessTokenEndpoint: 'https://id.example/token' } }).faults).toEqual([])
  expect(check({ oauth: { ...custom, ...two, response_type: 'id_token' } }).faults).toEqual([])
})

test.each([null, undefined, 5, 'text', true, [], [LEAST]])('manifest: %o is not a manifest', (value) => {
  expect(checkManifest(value, FILE).faults.map(({ code }) => code)).toEqual(['manifest_invalid'])
})

test('manifest: names that the author chose never find properties of Object.prototype', () => {
  const { manifest } = check({ oauth: { api: 'Google', clientId: 'x' } })
  const records = [manifest?.eventTypes, manifest?.databases, manifest?.oauth]
  expect(records.map((record) => 'toString' in (record as object))).toEqual([false, false, false])
})

test('manifest: 100 errors are listed, and one more says how many were omitted', () => {
  const { faults } = check(Object.fromEntries(Array.from({ length: 250 }, (_, index) => [`key${index}`, 1])))
  expect([faults.length, faults[100]?.code, faults[100]?.message]).toEqual([
    101,
    'more_faults',
    '150 more errors are not listed',
  ])
})

test('manifest: checkManifest never throws', () => {
  const keys = fc.constantFrom(...Object.keys(ManifestSchema.shape), '__proto__', 'x')
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.dictionary(keys, fc.anything({ withNullPrototype: true }))), (value) => {
      checkManifest(value, FILE)
    }),
  )
})

test('manifest: the JSON Schema has an $id, and a title and description for every property', () => {
  const schema = manifestJsonSchema() as Record<string, unknown> & {
    properties: Record<string, Record<string, unknown>>
  }
  expect(schema.$id).toBe('urn:solhost:schema:solution.json')
  expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
  expect([schema.additionalProperties, schema.required]).toEqual([false, ['name', 'version']])
  expect(Object.keys(schema.properties)).toEqual(Object.keys(ManifestSchema.shape))
  for (const property of Object.values(schema.properties)) {
    expect([typeof property.title, typeof property.description]).toEqual(['string', 'string'])
  }
})
