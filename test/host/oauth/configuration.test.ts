import { expect, test } from 'vitest'
import { checkConfiguration, loginFailedUrlOf } from '../../../host/oauth/configuration.ts'
import { createProviderRequests } from '../../../host/oauth/provider-requests.ts'
import { createLimits } from '../../../runtime/limits.ts'

const noRequest = () => Promise.reject(new TypeError('no request is made here'))
const { refusalOf } = createProviderRequests({ request: noRequest }, ['127.0.0.1:9000'], createLimits())

const check = (settings: unknown) => checkConfiguration(settings, 'getOAuthConfig', refusalOf)
const refusal = (settings: unknown): string => {
  try {
    check(settings)
  } catch (error) {
    expect(error).toMatchObject({ name: 'OAuthProblem', code: 'oauth_configuration' })
    return (error as Error).message
  }
  throw new Error('it was accepted')
}

const GOOGLE = { api: 'Google', clientId: 'id', apiSecret: '%%GOOGLE%%' }
const CUSTOM = { api: 'Custom', clientId: 'id', apiSecret: 's', issuer: 'https://id.example.org' }
const ENDPOINTS = {
  authorizationBaseUrl: 'https://id.example.org/authorize',
  accessTokenEndpoint: 'https://id.example.org/token',
  jwks_uri: 'https://keys.example.org/jwks',
}

test('configuration: minimal settings for Google are completed with the defaults', () => {
  expect(check(GOOGLE)).toEqual({
    api: 'Google',
    clientId: 'id',
    apiSecret: '%%GOOGLE%%',
    signedSecret: null,
    issuer: 'https://accounts.google.com',
    issuerHasTenant: false,
    authorizationEndpoint: null,
    tokenEndpoint: null,
    jwksUri: null,
    userInfoEndpoint: null,
    hasIdToken: true,
    clientAuthentication: null,
    scope: 'openid email profile',
    pkce: 'S256',
    responseType: 'code',
    responseMode: 'query',
    loginFailedUrl: null,
    parameters: {},
  })
})

test('configuration: the example in the guide is accepted', () => {
  const settings = {
    api: 'Microsoft',
    clientId: 'id',
    apiSecret: 'secret',
    jwks_uri: 'https://login.microsoftonline.com/common/discovery/v2.0/keys',
    defaultScope: 'openid email',
    code_challenge_method: 'S256',
  }
  expect(check(settings)).toMatchObject({
    issuer: 'https://login.microsoftonline.com/common/v2.0',
    issuerHasTenant: true,
    jwksUri: 'https://login.microsoftonline.com/common/discovery/v2.0/keys',
    scope: 'openid email',
    pkce: 'S256',
  })
})

test.each([
  ['Apple', {}, { scope: 'openid email name', responseMode: 'form_post', clientAuthentication: 'client_secret_post' }],
  ['Apple', { defaultScope: 'openid' }, { scope: 'openid', responseMode: 'query' }],
  ['Apple', { defaultScope: 'email' }, { scope: 'openid email', responseMode: 'form_post' }],
  ['Apple', { teamId: 'TEAM', keyId: 'KEY' }, { signedSecret: { teamId: 'TEAM', keyId: 'KEY' } }],
  ['Okta', { domain: 'acme.okta.com' }, { issuer: 'https://acme.okta.com', clientAuthentication: null }],
  ['Okta', { issuer: 'https://acme.okta.com/oauth2/default' }, { issuer: 'https://acme.okta.com/oauth2/default' }],
  ['LinkedIn', {}, { pkce: null, clientAuthentication: 'client_secret_post' }],
  ['LinkedIn', { code_challenge_method: 'S256' }, { pkce: 'S256' }],
  [
    'GitHub',
    {},
    { hasIdToken: false, scope: 'read:user user:email', tokenEndpoint: 'https://github.com/login/oauth/access_token' },
  ],
  ['GitHub', { domain: 'git.example.org' }, { userInfoEndpoint: 'https://git.example.org/api/v3/user' }],
  ['Microsoft', { tenant: 'organizations' }, { issuerHasTenant: true }],
  ['Microsoft', { issuer: 'https://login.microsoftonline.us/common/v2.0' }, { issuerHasTenant: false }],
  ['Google', { response_type: 'id_token' }, { responseMode: 'fragment', pkce: null }],
  ['Google', { response_type: 'id_token', response_mode: 'form_post' }, { responseMode: 'form_post' }],
  ['Google', { response_mode: 'fragment' }, { responseType: 'code', responseMode: 'fragment' }],
  ['Google', { token_endpoint_auth_method: 'client_secret_basic' }, { clientAuthentication: 'client_secret_basic' }],
  ['Custom', { issuer: 'https://id.example.org/' }, { issuer: 'https://id.example.org/' }],
  ['Custom', { issuer: 'http://127.0.0.1:9000' }, { issuer: 'http://127.0.0.1:9000' }],
  ['Custom', { ...ENDPOINTS }, { issuer: null, jwksUri: 'https://keys.example.org/jwks' }],
])('configuration: for %s, the settings %j are accepted and completed', (api, settings, expected) => {
  expect(check({ api, clientId: 'id', apiSecret: 's', ...settings })).toMatchObject(expected)
})

test('configuration: explicit settings override the built-in ones of every provider', () => {
  const written = {
    ...ENDPOINTS,
    issuer: 'https://other.example.org',
    userInfoEndpoint: 'https://other.example.org/me',
  }
  for (const api of ['Google', 'Microsoft', 'Apple', 'Okta', 'LinkedIn', 'GitHub', 'Custom']) {
    expect(check({ api, clientId: 'id', apiSecret: 's', ...written })).toMatchObject({
      issuer: 'https://other.example.org',
      issuerHasTenant: false,
      authorizationEndpoint: 'https://id.example.org/authorize',
      tokenEndpoint: 'https://id.example.org/token',
      jwksUri: 'https://keys.example.org/jwks',
      userInfoEndpoint: 'https://other.example.org/me',
    })
  }
})

test('configuration: a client without a secret must use PKCE or a flow without a code', () => {
  const { apiSecret, ...without } = CUSTOM
  expect(check(without)).toMatchObject({ apiSecret: null, clientAuthentication: 'none', pkce: 'S256' })
  expect(check({ ...without, token_endpoint_auth_method: 'none' })).toMatchObject({ clientAuthentication: 'none' })
  expect(check({ ...without, response_type: 'id_token' })).toMatchObject({ clientAuthentication: 'none', pkce: null })
  expect(refusal({ ...without, code_challenge_method: 'plain' })).toMatch('"apiSecret" is missing')
  expect(refusal({ api: 'Google', clientId: 'id' })).toBe('getOAuthConfig: "apiSecret" is missing; Google requires it')
  expect(check({ api: 'Google', clientId: 'id', response_type: 'id_token' }).apiSecret).toBeNull()
})

test('configuration: other strings, numbers and booleans are sent as strings', () => {
  const { parameters } = check({ ...GOOGLE, access_type: 'offline', max_age: 5, hd: true, claims: '{"id_token":{}}' })
  expect({ ...parameters }).toEqual({ access_type: 'offline', max_age: '5', hd: 'true', claims: '{"id_token":{}}' })
  expect(Object.getPrototypeOf(parameters)).toBeNull()
})

test('configuration: a value of null counts as omitted', () => {
  expect(check({ ...GOOGLE, code_challenge_method: null, prompt: null, tenant: undefined })).toEqual(check(GOOGLE))
})

test.each([
  'state',
  'nonce',
  'redirect_uri',
  'client_id',
  'client_secret',
  'scope',
  'code_challenge',
  'code_verifier',
  'request',
  'request_uri',
  'client_assertion',
  'client_assertion_type',
  'id_token_hint',
  'registration',
])('configuration: the parameter %s is reserved for the platform', (name) => {
  expect(refusal({ ...GOOGLE, [name]: 'x' })).toBe(`getOAuthConfig: "${name}" must not be set: the platform sets it`)
})

test.each([
  [{ clientId: '%%ID%%' }, '"clientId"'],
  [{ prompt: 'a %%GOOGLE%% b' }, '"prompt"'],
  [{ issuer: 'https://%%GOOGLE%%.example.org/' }, '"issuer"'],
  [{ login_failed_url: '/?%%GOOGLE%%' }, '"login_failed_url"'],
  [{ apiSecret: 'a%%GOOGLE%%' }, '"apiSecret" must be exactly one %%NAME%%'],
  [{ apiSecret: '%%GOOGLE%%%%GOOGLE%%' }, '"apiSecret" must be exactly one %%NAME%%'],
  [{ apiSecret: '%%google%%' }, '"apiSecret" must be exactly one %%NAME%%'],
])('configuration: %j has a placeholder where none is allowed', (settings, message) => {
  expect(refusal({ ...GOOGLE, ...settings })).toMatch(message)
})

const ADDRESSES = ['issuer', 'authorizationBaseUrl', 'accessTokenEndpoint', 'jwks_uri', 'userInfoEndpoint']
test.each([
  'javascript:alert(1)',
  'http://169.254.169.254/latest/meta-data/',
  'http://127.0.0.1:9001/',
  'http://id.example.org/',
  'https://user:pw@id.example.org/',
  'https://id.example.org/#fragment',
  'https://id.example.org/\r\nHost: evil.example',
  'https://id.example.org/\u0000',
  ' https://id.example.org/',
  'https:/id.example.org/',
  'https:\\\\id.example.org/',
  '//id.example.org/',
  '/path',
  'file:///etc/passwd',
  'data:text/html,x',
  'https://',
  'https://999.999.999.999/',
  `https://id.example.org/${'a'.repeat(2000)}`,
  ['https://id.example.org/'],
  {},
  5,
])('configuration: %j is not a valid URL', (address) => {
  for (const name of ADDRESSES)
    expect(refusal({ ...CUSTOM, ...ENDPOINTS, [name]: address })).toMatch(`: "${name}" must`)
})

test.each(['127.0.0.1/x', 'a b', 'user@x.org', 'x.org#', 'x.org?', 'https://x.org', '', 'x.org:0', '[::1', '\u0000'])(
  'configuration: %j is not a valid domain',
  (domain) => {
    expect(refusal({ api: 'Okta', clientId: 'id', domain })).toMatch('"domain" must be a host or host:port')
  },
)

test.each(['../evil', 'a/b', 'a?b', 'a#b', '', '.', 'a b', '{tenantid}', 'a\r\n', 'ü'])(
  'configuration: %j is not a valid tenant',
  (tenant) => {
    expect(refusal({ api: 'Microsoft', clientId: 'id', tenant })).toMatch('"tenant" must be common')
  },
)

test.each([
  ['https://app.example.org/failed?x=1', true],
  ['http://app.example.org/', true],
  ['/solution/crm/media/failed.html', true],
  ['//evil.example/', false],
  ['/\\evil.example', false],
  ['javascript:alert(1)', false],
  ['mailto:a@b.org', false],
  ['https://user:pw@evil.example/', false],
  ['failed.html', false],
  ['/a\r\nSet-Cookie: a=b', false],
  ['', false],
])('configuration: login_failed_url %j is accepted: %s', (address, isFine) => {
  expect(loginFailedUrlOf(address)).toBe(isFine ? address : null)
  if (isFine) expect(check({ ...GOOGLE, login_failed_url: address }).loginFailedUrl).toBe(address)
  else expect(refusal({ ...GOOGLE, login_failed_url: address })).toMatch('"login_failed_url" must')
})

test.each([
  [{ ...GOOGLE, tenant: 'common' }, '"tenant" is a setting for Microsoft, not for Google; remove it'],
  [{ ...GOOGLE, domain: 'x.org' }, '"domain" is a setting for Okta and GitHub, not for Google; remove it'],
  [{ ...CUSTOM, keyId: 'a' }, '"keyId" is a setting for Apple, not for Custom; remove it'],
  [{ api: 'Okta', clientId: 'id' }, 'Okta requires "domain", or "issuer" for a custom authorization server'],
  [
    { api: 'Microsoft', clientId: 'id', tenant: 'a', issuer: 'https://x.org' },
    '"issuer" already contains the tenant: remove "tenant"',
  ],
  [
    { api: 'Custom', clientId: 'id' },
    '"issuer" is missing; set it, or set "authorizationBaseUrl", "jwks_uri", "accessTokenEndpoint"',
  ],
  [
    { api: 'Custom', clientId: 'id', jwks_uri: 'https://x.org', response_type: 'id_token' },
    '"issuer" is missing; set it, or set "authorizationBaseUrl"',
  ],
  [
    { ...GOOGLE, response_type: 'id_token', response_mode: 'query' },
    '"response_mode" must be fragment or form_post if "response_type" is id_token',
  ],
  [
    { ...GOOGLE, response_type: 'id_token', code_challenge_method: 'S256' },
    '"code_challenge_method" cannot be used with the response_type id_token',
  ],
  [{ ...GOOGLE, api: 'GitHub', response_type: 'id_token' }, 'for GitHub, "response_type" must be "code"'],
  [{ ...GOOGLE, api: 'LinkedIn', response_mode: 'form_post' }, '"response_mode" must be query for LinkedIn'],
  [
    { ...GOOGLE, api: 'Apple', response_mode: 'query' },
    '"response_mode" must be form_post if the scope contains name or email (Apple)',
  ],
  [
    { ...GOOGLE, api: 'Apple', teamId: 'a' },
    '"teamId" and "keyId" must be set together, with the private key in "apiSecret"',
  ],
  [
    { ...GOOGLE, token_endpoint_auth_method: 'none' },
    '"token_endpoint_auth_method" must not be none if "apiSecret" is set',
  ],
  [
    { api: 'Okta', clientId: 'id', domain: 'x.org', token_endpoint_auth_method: 'client_secret_post' },
    '"token_endpoint_auth_method" client_secret_post requires "apiSecret"',
  ],
  [
    { ...GOOGLE, defaultScope: 'openid é' },
    '"defaultScope" must contain only printable ASCII characters except " and \\',
  ],
  [{ clientId: 'id' }, '"api" is missing; it must be one of Google, Microsoft, Apple, Okta, LinkedIn, GitHub, Custom'],
  [{ api: 'Google' }, '"clientId" is missing; it must be a string of 1 to 500 characters without control characters'],
  [{ ...GOOGLE, api: 'toString' }, '"api" must be one of Google, Microsoft, Apple, Okta, LinkedIn, GitHub, Custom'],
  [null, 'the settings must be an object, not null'],
  ['Google', 'the settings must be an object, not "Google"'],
  [[GOOGLE], 'the settings must be an object, not a list'],
])('configuration: %j is rejected', (settings, message) => {
  expect(refusal(settings)).toBe(`getOAuthConfig: ${message}`)
})

const HOSTILE = 'hunter2'
test.each([
  ['a secret with a line break', { apiSecret: `${HOSTILE}\r\n` }],
  ['a secret that is a list', { apiSecret: [HOSTILE] }],
  ['a secret of a megabyte', { apiSecret: HOSTILE.repeat(150_000) }],
  ['a parameter with NUL', { prompt: `${HOSTILE}\u0000` }],
  ['a parameter with CRLF', { prompt: `${HOSTILE}\r\nx` }],
  ['a parameter with half a surrogate pair', { prompt: `${HOSTILE}\ud800` }],
  ['a parameter that is an object', { prompt: { [HOSTILE]: 1 } }],
  ['a parameter of a megabyte', { prompt: HOSTILE.repeat(150_000) }],
  ['a parameter that is not finite', { prompt: Number.POSITIVE_INFINITY, x: HOSTILE }],
  ['a parameter whose name has CRLF', { 'a\r\nb': HOSTILE }],
  ['a parameter without a name', { '': HOSTILE }],
  ['10,000 keys', Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`k${n}`, HOSTILE]))],
  ['a client id with NUL', { clientId: 'a\u0000' }],
])('configuration: %s is rejected, and no value is quoted', (_what, settings) => {
  const message = refusal({ ...GOOGLE, ...settings })
  expect(message).toMatch(/^getOAuthConfig: /)
  expect(message).not.toContain(HOSTILE)
  expect(message).not.toMatch(/[\r\n]/)
  expect(message.length).toBeLessThan(300)
})

test('configuration: keys named like prototype properties don’t reach a prototype', () => {
  const settings = JSON.parse(
    '{"api":"Google","clientId":"id","apiSecret":"s","constructor":"a","toString":"b","__proto__":"c"}',
  )
  const { parameters, ...rest } = check(settings)
  expect(parameters.constructor).toBe('a')
  expect(Object.getPrototypeOf(parameters)).toBeNull()
  expect(rest.issuer).toBe('https://accounts.google.com')
  expect(refusal(JSON.parse('{"__proto__":{"api":"Google","clientId":"id","apiSecret":"s"}}'))).toMatch(
    '"api" is missing',
  )
  expect(refusal(Object.create(GOOGLE))).toMatch('"api" is missing')
  expect(({} as Record<string, unknown>).api).toBeUndefined()
})
