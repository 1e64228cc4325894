import { expect, test } from 'vitest'
import type { OAuthConfiguration } from '../../../host/oauth/configuration.ts'
import { OAuthProblem } from '../../../host/oauth/problems.ts'
import { createProviderFinder } from '../../../host/oauth/provider-finder.ts'
import { createProviderRequests } from '../../../host/oauth/provider-requests.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { configuration, ISSUER } from '../../support/provider-tokens.ts'

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const GUID = '72f988bf-86f1-41af-91ab-2d7cd011db47'
const MICROSOFT = 'https://login.microsoftonline.com'
const DOCUMENT = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  jwks_uri: `${ISSUER}/keys`,
  userinfo_endpoint: `${ISSUER}/me`,
  revocation_endpoint: `${ISSUER}/revoke`,
  end_session_endpoint: `${ISSUER}/end`,
}
const ENDPOINTS = {
  authorizationEndpoint: 'https://a.example/authorize',
  tokenEndpoint: 'https://b.example:8443/token',
  jwksUri: 'https://a.example/keys',
} as const

/** Checks URLs with the real rules. The test sets the responses and the clock. */
function host(document: unknown = DOCUMENT) {
  let time = 1_700_000_000_000
  let answer: () => unknown = () => document
  const asked: string[] = []
  const { refusalOf } = createProviderRequests({ request: () => Promise.reject() }, ['localhost:9000'], createLimits())
  const getJson = async (address: string) => {
    asked.push(address)
    await null
    return answer() as Record<string, unknown>
  }
  const finder = createProviderFinder({ refusalOf, getJson }, () => time)
  return {
    asked,
    after(ms: number) {
      time += ms
    },
    answers(next: () => unknown) {
      answer = next
    },
    find: (changes: Partial<OAuthConfiguration> = {}, solution = 'crm') =>
      finder.find(solution, configuration(changes)),
  }
}

async function problemOf(finding: Promise<unknown>): Promise<OAuthProblem> {
  const result = await finding.catch((error: unknown) => error)
  if (result instanceof OAuthProblem) return result
  throw new Error('a provider was found', { cause: result })
}

test('provider: all endpoints and options are read from the discovery document', async () => {
  const { find, asked } = host()
  expect(await find()).toEqual({
    title: 'id.example.org',
    issuer: ISSUER,
    issuerOrigins: [],
    issuerHasTenant: false,
    authorizationEndpoint: `${ISSUER}/authorize`,
    tokenEndpoint: `${ISSUER}/token`,
    jwksUri: `${ISSUER}/keys`,
    userInfoEndpoint: `${ISSUER}/me`,
    revocationEndpoint: `${ISSUER}/revoke`,
    endSessionEndpoint: `${ISSUER}/end`,
    idTokenAlgorithms: ALGORITHMS,
    clientAuthentication: 'client_secret_basic',
    sendsIssuer: false,
    hasIdToken: true,
  })
  expect(asked).toEqual([`${ISSUER}/.well-known/openid-configuration`])
})

test('provider: nothing is requested if the settings contain all endpoints', async () => {
  const { find, asked } = host()
  expect(await find({ issuer: null, ...ENDPOINTS })).toEqual({
    title: 'a.example',
    issuer: null,
    issuerOrigins: ['https://a.example', 'https://b.example:8443'],
    issuerHasTenant: false,
    ...ENDPOINTS,
    userInfoEndpoint: null,
    revocationEndpoint: null,
    endSessionEndpoint: null,
    idTokenAlgorithms: ALGORITHMS,
    clientAuthentication: 'client_secret_basic',
    sendsIssuer: false,
    hasIdToken: true,
  })
  expect((await find({ ...ENDPOINTS })).issuer).toBe(ISSUER)
  expect(asked).toEqual([])
})

test('provider: the response type id_token requires no token endpoint; without an ID token, user info is used instead of keys', async () => {
  const { find, asked } = host()
  const { tokenEndpoint, jwksUri } = ENDPOINTS
  const fragment = { ...ENDPOINTS, tokenEndpoint: null, issuer: null, responseType: 'id_token' } as const
  expect((await find(fragment)).tokenEndpoint).toBeNull()
  const userInfoEndpoint = 'https://api.example/user'
  const github = {
    ...ENDPOINTS,
    jwksUri: null,
    issuer: null,
    hasIdToken: false,
    userInfoEndpoint,
    api: 'GitHub',
  } as const
  expect(await find(github)).toMatchObject({ title: 'GitHub', userInfoEndpoint, hasIdToken: false, jwksUri: null })
  expect(asked).toEqual([])
  expect((await find({ ...ENDPOINTS, tokenEndpoint: null })).tokenEndpoint).toBe(`${ISSUER}/token`)
  expect((await find({ tokenEndpoint, jwksUri })).authorizationEndpoint).toBe(`${ISSUER}/authorize`)
})

test('provider: if settings are incomplete, the error says what is missing', async () => {
  const { find } = host()
  const problem = await problemOf(find({ ...ENDPOINTS, issuer: null, tokenEndpoint: null, jwksUri: null }))
  expect([problem.code, problem.message]).toEqual([
    'oauth_configuration',
    '"issuer" is missing; set it, or set "accessTokenEndpoint", "jwks_uri"',
  ])
})

test('provider: an endpoint in the settings takes precedence', async () => {
  const { find } = host()
  const provider = await find({ tokenEndpoint: 'https://b.example/token' })
  expect([provider.tokenEndpoint, provider.jwksUri]).toEqual(['https://b.example/token', `${ISSUER}/keys`])
})

test.each([
  [`${ISSUER}/`, `${ISSUER}/.well-known/openid-configuration`],
  [`${ISSUER}/realms/one`, `${ISSUER}/realms/one/.well-known/openid-configuration`],
  [`${ISSUER}/realms/one/`, `${ISSUER}/realms/one/.well-known/openid-configuration`],
])('provider: the discovery document of %s is requested at %s', async (issuer, address) => {
  const { find, asked } = host({ ...DOCUMENT, issuer })
  expect((await find({ issuer })).issuer).toBe(issuer)
  expect(asked).toEqual([address])
})

test.each<[string, unknown]>([
  ['another', 'https://evil.example'],
  ['the issuer with a slash', `${ISSUER}/`],
  ['a prefix', 'https://id.example'],
  ['the issuer with a suffix', `${ISSUER}.evil.example`],
  ['the issuer in uppercase', ISSUER.toUpperCase()],
  ['the issuer with a port', `${ISSUER}:443`],
  ['the issuer over http', 'http://id.example.org'],
  ['the issuer with a line break', `${ISSUER}\n`],
  ['none', undefined],
  ['a list', [ISSUER]],
  ['an empty string', ''],
])('provider: a document whose issuer is wrong (%s) is rejected and not cached', async (_what, issuer) => {
  const { find, answers, asked } = host({ ...DOCUMENT, issuer })
  const problem = await problemOf(find())
  expect([problem.code, problem.message]).toEqual(['oauth_provider', expect.stringMatching(/issuer/)])
  answers(() => DOCUMENT)
  expect((await find()).issuer).toBe(ISSUER)
  expect(asked).toHaveLength(2)
})

test('provider: an issuer with a trailing slash differs from one without', async () => {
  expect((await problemOf(host().find({ issuer: `${ISSUER}/` }))).code).toBe('oauth_provider')
})

const BAD = [
  'javascript:alert(1)',
  'http://169.254.169.254/latest',
  'http://id.example.org/x',
  'https://user:pw@id.example.org/x',
  'https://id.example.org/x#y',
  '//id.example.org/x',
  'file:///etc/passwd',
  'no address',
]
test.each(BAD)('provider: the endpoint %s counts as missing, and is an error if it is required', async (address) => {
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri']) {
    const problem = await problemOf(host({ ...DOCUMENT, [name]: address }).find())
    expect([problem.code, problem.message]).toEqual(['oauth_provider', expect.stringMatching(`"${name}" must`)])
  }
  const optional = { userinfo_endpoint: address, revocation_endpoint: address, end_session_endpoint: address }
  expect(await host({ ...DOCUMENT, ...optional }).find()).toMatchObject({
    userInfoEndpoint: null,
    revocationEndpoint: null,
    endSessionEndpoint: null,
  })
  const set = await problemOf(host().find({ tokenEndpoint: address }))
  expect([set.code, set.message]).toEqual(['oauth_configuration', expect.stringMatching(/^"accessTokenEndpoint" must/)])
})

test('provider: an endpoint over http is accepted if the operator lists it', async () => {
  const token_endpoint = 'http://localhost:9000/token'
  expect((await host({ ...DOCUMENT, token_endpoint }).find()).tokenEndpoint).toBe(token_endpoint)
})

test.each<[string, unknown]>([
  ['missing', undefined],
  ['null', null],
  ['a number', 1],
  ['a list', ['https://id.example.org/x']],
  ['too long', `https://id.example.org/${'x'.repeat(2048)}`],
])('provider: an endpoint that is %s counts as missing', async (_what, value) => {
  const problem = await problemOf(host({ ...DOCUMENT, jwks_uri: value }).find())
  expect(problem.message).toBe('the discovery document is invalid: "jwks_uri" is missing')
  expect((await host({ ...DOCUMENT, end_session_endpoint: value }).find()).endSessionEndpoint).toBeNull()
})

test.each(['ftp://id.example.org', 'id.example.org', `${ISSUER}?tenant=a`, `${ISSUER}#a`, 'http://10.0.0.1', ''])(
  'provider: the issuer "%s" in the settings is rejected without a request',
  async (issuer) => {
    const { find, asked } = host()
    expect([(await problemOf(find({ issuer }))).code, asked]).toEqual(['oauth_configuration', []])
  },
)

test.each<[unknown, readonly string[]]>([
  [['RS256'], ['RS256']],
  [
    ['none', 'HS256', 'ES256', 'rs256', 'RS256'],
    ['RS256', 'ES256'],
  ],
  [null, ALGORITHMS],
])('provider: from the algorithms %j, the supported ones are used', async (offered, taken) => {
  const document = { ...DOCUMENT, id_token_signing_alg_values_supported: offered }
  expect((await host(document).find()).idTokenAlgorithms).toEqual(taken)
})

test.each<[string, unknown]>([
  ['not supported', ['HS256', 'none']],
  ['an empty list', []],
  ['a string', 'RS256'],
  ['numbers', [256]],
  ['too many', Array(101).fill('RS256')],
])('provider: algorithms that are %s are reported as a provider error', async (_what, offered) => {
  const document = { ...DOCUMENT, id_token_signing_alg_values_supported: offered }
  expect((await problemOf(host(document).find())).code).toBe('oauth_provider')
})

test.each<[string, unknown, Partial<OAuthConfiguration>, string]>([
  ['the document does not say', undefined, {}, 'client_secret_basic'],
  ['both are offered', ['client_secret_post', 'client_secret_basic'], {}, 'client_secret_basic'],
  ['post is offered', ['client_secret_post'], {}, 'client_secret_post'],
  ['the client has no secret', ['client_secret_basic'], { apiSecret: null }, 'none'],
  [
    'the settings say so',
    ['client_secret_basic'],
    { clientAuthentication: 'client_secret_post' },
    'client_secret_post',
  ],
])('provider: the client authentication is chosen correctly if %s', async (_what, offered, changes, way) => {
  const document = { ...DOCUMENT, token_endpoint_auth_methods_supported: offered }
  expect((await host(document).find(changes)).clientAuthentication).toBe(way)
})

test('provider: the document says whether responses contain iss', async () => {
  const document = { ...DOCUMENT, authorization_response_iss_parameter_supported: true }
  expect((await host(document).find()).sendsIssuer).toBe(true)
  const wrong = { ...DOCUMENT, authorization_response_iss_parameter_supported: 'true' }
  expect((await problemOf(host(wrong).find())).message).toMatch(/"authorization_response_iss_parameter_supported"/)
})

test.each<[string, Partial<OAuthConfiguration>, string, string]>([
  [
    'common',
    { issuerHasTenant: true, issuer: `${MICROSOFT}/common/v2.0` },
    `${MICROSOFT}/{tenantid}/v2.0`,
    `${MICROSOFT}/{tenantid}/v2.0`,
  ],
  [
    'organizations',
    { issuerHasTenant: true, issuer: `${MICROSOFT}/organizations/v2.0` },
    `${MICROSOFT}/{tenantid}/v2.0`,
    `${MICROSOFT}/{tenantid}/v2.0`,
  ],
  ['a GUID', { issuer: `${MICROSOFT}/${GUID}/v2.0` }, `${MICROSOFT}/${GUID}/v2.0`, `${MICROSOFT}/${GUID}/v2.0`],
  ['a domain', { issuer: `${MICROSOFT}/contoso.com/v2.0` }, `${MICROSOFT}/${GUID}/v2.0`, `${MICROSOFT}/${GUID}/v2.0`],
])('provider: a Microsoft tenant is found by %s', async (_what, changes, named, issuer) => {
  expect(await host({ ...DOCUMENT, issuer: named }).find({ api: 'Microsoft', ...changes })).toMatchObject({
    title: 'Microsoft',
    issuer,
    issuerHasTenant: changes.issuerHasTenant ?? false,
  })
})

test.each<[string, Partial<OAuthConfiguration>, string]>([
  [
    'common, with one tenant in the document',
    { issuerHasTenant: true, issuer: `${MICROSOFT}/common/v2.0` },
    `${MICROSOFT}/${GUID}/v2.0`,
  ],
  [
    'a GUID, with another one in the document',
    { issuer: `${MICROSOFT}/${GUID}/v2.0` },
    `${MICROSOFT}/${GUID.replace('7', '8')}/v2.0`,
  ],
  [
    'a GUID, with the template in the document',
    { issuer: `${MICROSOFT}/${GUID}/v2.0` },
    `${MICROSOFT}/{tenantid}/v2.0`,
  ],
  [
    'a domain, with the template in the document',
    { issuer: `${MICROSOFT}/contoso.com/v2.0` },
    `${MICROSOFT}/{tenantid}/v2.0`,
  ],
  [
    'a domain, with another host in the document',
    { issuer: `${MICROSOFT}/contoso.com/v2.0` },
    `https://evil.example/${GUID}/v2.0`,
  ],
  [
    'a domain, with the first version in the document',
    { issuer: `${MICROSOFT}/contoso.com/v2.0` },
    `https://sts.windows.net/${GUID}/`,
  ],
  ['a domain, with a path in the document', { issuer: `${MICROSOFT}/contoso.com/v2.0` }, `${MICROSOFT}/x/${GUID}/v2.0`],
])('provider: a Microsoft tenant is rejected: %s', async (_what, changes, named) => {
  const finding = host({ ...DOCUMENT, issuer: named }).find({ api: 'Microsoft', ...changes })
  expect((await problemOf(finding)).code).toBe('oauth_provider')
})

test('provider: other providers cannot use a GUID in place of a domain', async () => {
  const document = { ...DOCUMENT, issuer: `${MICROSOFT}/${GUID}/v2.0` }
  expect((await problemOf(host(document).find({ issuer: `${MICROSOFT}/contoso.com/v2.0` }))).code).toBe(
    'oauth_provider',
  )
})

test('provider: the issuer of a shared tenant with explicit endpoints is the template', async () => {
  const { find, asked } = host()
  const microsoft = {
    api: 'Microsoft',
    issuerHasTenant: true,
    issuer: `${MICROSOFT}/common/v2.0`,
    ...ENDPOINTS,
  } as const
  expect(await find(microsoft)).toMatchObject({ issuer: `${MICROSOFT}/{tenantid}/v2.0`, issuerHasTenant: true })
  expect(asked).toEqual([])
})

test('provider: a document is cached for ten minutes, per solution and issuer', async () => {
  const { find, after, asked } = host()
  await find()
  after(600_000 - 1)
  await find({ clientId: 'client-2' })
  expect(asked).toHaveLength(1)
  await find({}, 'shop')
  expect(asked).toHaveLength(2)
  after(1)
  await find()
  expect(asked).toHaveLength(3)
})

test('provider: simultaneous sign-ins share one request, even one that fails', async () => {
  const { find, asked } = host()
  await Promise.all(Array.from({ length: 10 }, () => find()))
  expect(asked).toHaveLength(1)
  const other = host()
  other.answers(() => {
    throw new OAuthProblem('oauth_provider', 'id.example.org answered 500, not 200')
  })
  const problems = await Promise.all(Array.from({ length: 10 }, () => problemOf(other.find())))
  expect(problems.map(({ message }) => message)).toEqual(Array(10).fill('id.example.org answered 500, not 200'))
  expect(other.asked).toHaveLength(1)
  other.answers(() => DOCUMENT)
  expect((await other.find()).issuer).toBe(ISSUER)
})

test('provider: a cached document is combined with the settings of each configuration', async () => {
  const { find, asked } = host()
  expect((await find()).clientAuthentication).toBe('client_secret_basic')
  expect((await find({ apiSecret: null })).clientAuthentication).toBe('none')
  expect(asked).toHaveLength(1)
})

test('provider: the least recently used documents are removed from the cache', async () => {
  const { find, asked } = host()
  await find({}, 'first')
  await find({}, 'second')
  for (let n = 0; n < 199; n++) await find({}, `s${n}`).then(() => find({}, 'first'))
  await find({}, 'first')
  expect(asked).toHaveLength(201)
  await find({}, 'second')
  expect(asked).toHaveLength(202)
})
