import { afterAll, expect, test } from 'vitest'
import type { ActiveSolution } from '../../../base/bundles/active-solution.ts'
import { noEffects } from '../../../base/bundles/host-call.ts'
import type { Asking } from '../../../host/login/arrival.ts'
import { createConfigurationChooser, mergeSettings } from '../../../host/oauth/chosen-configuration.ts'
import type { WrittenOAuthSettings } from '../../../host/oauth/oauth-settings.ts'
import { createProviderRequests } from '../../../host/oauth/provider-requests.ts'
import type { EntryRunner } from '../../../host/solutions/run-entry.ts'
import type { NewLogLine } from '../../../host/solutions/solution-log.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { createScriptLab, manifestOf } from '../../support/solutions.ts'

const lab = createScriptLab({ limits: { CALL_TIME: 1500 } })
afterAll(() => lab.stop())

const noRequest = () => Promise.reject(new TypeError('no request is made here'))
const { refusalOf } = createProviderRequests({ request: noRequest }, [], createLimits())
const GOOGLE = { api: 'Google', clientId: 'of the author', apiSecret: '%%GOOGLE%%' } as const
const AUTHENTICATOR = manifestOf({ name: 'auth', type: 'authenticator' })
const BASE = manifestOf({ name: 'base', type: 'module' })

function asking(solution: ActiveSolution, url: Record<string, string> = {}): Asking {
  const address = { address: '127.0.0.1', serverUrl: 'http://127.0.0.1:8080' }
  return { solution, locale: 'en', url: new Map(Object.entries(url)), correlationId: 'TEST0-00000', ...address }
}

const lines: NewLogLine[] = []

function chooserWith(ofOperator: WrittenOAuthSettings | null, runEntry: EntryRunner = lab.runEntry) {
  return createConfigurationChooser({
    settings: { get: async () => ofOperator },
    runEntry,
    refusalOf,
    writeLine: (_solution, _address, line) => void lines.push(line),
  })
}

const oauthSolution = (oauth?: WrittenOAuthSettings) =>
  lab.solution({ manifest: manifestOf({ authenticator: 'OAUTH', modules: ['auth'], ...(oauth ? { oauth } : {}) }) })

/** A solution with this script in one of the places where the host looks for getOAuthConfig. */
function scripted(where: 'auth' | 'main', source: string, written: Record<string, unknown> = {}): ActiveSolution {
  const modules = ['auth', 'base']
  const entry = ['getOAuthConfig']
  return lab.solution({
    manifest: manifestOf({ authenticator: 'OAUTH_AUTHENTICATOR', modules, ...written }),
    modules: [
      { name: 'auth', manifest: AUTHENTICATOR },
      { name: 'base', manifest: BASE },
    ],
    scripts: [
      { module: 'auth', file: 'modules/auth/scopes/own.js', source: 'var inAuth = 1' },
      { module: 'auth', file: 'modules/auth/globals.js', source: where === 'auth' ? source : '' },
      { module: 'base', file: 'modules/base/globals.js', source: 'var inBase = 1' },
      { module: null, file: 'scopes/own.js', source: 'var inMain = 1' },
      { module: null, file: 'globals.js', source: where === 'main' ? source : '' },
    ],
    entries: where === 'auth' ? { authenticator: entry } : { main: entry, configuration: entry },
  })
}

test('OAUTH_AUTHENTICATOR: a state from getOAuthConfig is ignored with a warning, and its endpoints are not parameters', async () => {
  const source = `function getOAuthConfig() {
    return { api: 'Google', clientId: 'c', apiSecret: 's', state: 'x', prompt: 'consent',
      refreshTokenEndpoint: 'https://idp.example/refresh', revokeTokenEndpoint: 'https://idp.example/revoke' }
  }`
  const chosen = await chooserWith(null).choose(asking(scripted('auth', source)))
  expect({ ...chosen.parameters }).toEqual({ prompt: 'consent' })
  expect(chosen).toMatchObject({
    refreshTokenEndpoint: 'https://idp.example/refresh',
    revokeTokenEndpoint: 'https://idp.example/revoke',
  })
  const message = 'getOAuthConfig: "state" is ignored; the platform sets it automatically'
  expect(lines).toEqual([{ level: 'warn', message, correlationId: 'TEST0-00000' }])
})

test('the operator’s endpoints replace all of the author’s, including those for refreshing and revoking', () => {
  const places = { refreshTokenEndpoint: 'https://a.example/r', revokeTokenEndpoint: 'https://a.example/v' }
  expect(mergeSettings({ ...GOOGLE, ...places }, { issuer: 'https://b.example' })).toEqual({
    ...GOOGLE,
    issuer: 'https://b.example',
  })
})

// --- mode OAUTH ---

test('OAUTH: the operator’s settings override the manifest’s, key by key', async () => {
  const solution = oauthSolution({ ...GOOGLE, prompt: 'consent', login_failed_url: '/failed' })
  expect(await chooserWith(null).choose(asking(solution))).toMatchObject({ clientId: 'of the author' })
  const chosen = await chooserWith({ clientId: 'of the operator', hd: 'x.org' }).choose(asking(solution))
  expect(chosen).toMatchObject({ api: 'Google', clientId: 'of the operator', apiSecret: '%%GOOGLE%%' })
  expect({ ...chosen.parameters }).toEqual({ prompt: 'consent', hd: 'x.org' })
})

test('OAUTH: the operator’s settings alone are enough; if there are no settings at all, the error says so', async () => {
  const solution = oauthSolution()
  expect(await chooserWith(GOOGLE).choose(asking(solution))).toMatchObject({ api: 'Google' })
  await expect(chooserWith(null).choose(asking(solution))).rejects.toMatchObject({
    code: 'oauth_configuration',
    message: 'there are no OAuth settings: add "oauth" to solution.json, or ask the operator to set them',
  })
})

test('OAUTH: the error says whose settings are wrong', async () => {
  const wrong: WrittenOAuthSettings = { ...GOOGLE, tenant: 'common' }
  const cases = [
    [wrong, null, '"oauth" in solution.json: '],
    [undefined, wrong, 'the operator’s OAuth settings: '],
    [GOOGLE, { tenant: 'common' }, '"oauth" in solution.json, overridden by the operator’s settings: '],
  ] as const
  for (const [ofManifest, ofOperator, where] of cases) {
    const chosen = chooserWith(ofOperator).choose(asking(oauthSolution(ofManifest)))
    await expect(chosen).rejects.toMatchObject({
      code: 'oauth_configuration',
      message: `${where}"tenant" is a setting for Microsoft, not for Google; remove it`,
    })
  }
})

test('OAUTH: a different provider set by the operator inherits only login_failed_url from the manifest', () => {
  const merged = mergeSettings(
    {
      api: 'Custom',
      clientId: 'a',
      apiSecret: 'b',
      issuer: 'https://author.example',
      prompt: 'x',
      login_failed_url: '/f',
    },
    GOOGLE,
  )
  expect({ ...merged }).toEqual({ ...GOOGLE, login_failed_url: '/f' })
  expect({ ...mergeSettings({ api: 'Custom', clientId: 'a' }, GOOGLE) }).toEqual(GOOGLE)
})

test('OAUTH: if the operator sets the provider’s endpoints, the manifest’s endpoints are ignored', () => {
  const author = 'https://author.example/x'
  const ofManifest: WrittenOAuthSettings = {
    api: 'Custom',
    clientId: 'a',
    apiSecret: '%%S%%',
    prompt: 'login',
    issuer: author,
    userInfoEndpoint: author,
    authorizationBaseUrl: author,
    accessTokenEndpoint: author,
    jwks_uri: author,
  }
  const kept = { api: 'Custom', clientId: 'a', apiSecret: '%%S%%', prompt: 'login' }
  for (const place of ['issuer', 'jwks_uri', 'userInfoEndpoint', 'authorizationBaseUrl'] as const) {
    expect({ ...mergeSettings(ofManifest, { [place]: 'https://id.example.org' }) }).toEqual({
      ...kept,
      [place]: 'https://id.example.org',
    })
  }
  expect({ ...mergeSettings(ofManifest, { clientId: 'b' }) }).toEqual({ ...ofManifest, clientId: 'b' })
})

test('OAUTH: no script is called', async () => {
  const runEntry: EntryRunner = () => Promise.reject(new TypeError('a script was asked'))
  expect(await chooserWith(null, runEntry).choose(asking(oauthSolution(GOOGLE)))).toMatchObject({ api: 'Google' })
})

// --- mode OAUTH_AUTHENTICATOR ---

const SCRIPT = `function getOAuthConfig(queryParams) {
  if (queryParams.tenant !== 'north') return null
  return { api: 'Okta', clientId: JSON.stringify(queryParams), apiSecret: '%%NORTH%%', domain: 'north.okta.com' }
}`

test.each(['auth', 'main'] as const)(
  'OAUTH_AUTHENTICATOR: getOAuthConfig in %s can use the query parameters',
  async (where) => {
    const params = { tenant: 'north', argument: 'a', username: 'anna', password: 'b', csrf_token: 'c', id_token: 'd' }
    const chosen = await chooserWith(null).choose(asking(scripted(where, SCRIPT), params))
    expect(chosen).toMatchObject({ api: 'Okta', issuer: 'https://north.okta.com', apiSecret: '%%NORTH%%' })
    expect(chosen.clientId).toBe('{"tenant":"north","argument":"a"}')
  },
)

test('OAUTH_AUTHENTICATOR: getOAuthConfig in main runs only with main’s scripts, and in the authenticator only with the authenticator’s', async () => {
  const source = `function getOAuthConfig() {
    return { api: 'Okta', clientId: [typeof inAuth, typeof inBase, typeof inMain].join(), domain: 'x.org' }
  }`
  const chosen = (where: 'auth' | 'main') => chooserWith(null).choose(asking(scripted(where, source)))
  expect((await chosen('main')).clientId).toBe('undefined,undefined,number')
  expect((await chosen('auth')).clientId).toBe('number,undefined,undefined')
})

test('OAUTH_AUTHENTICATOR: neither the manifest’s nor the operator’s settings are added to what the script returns', async () => {
  const solution = scripted('auth', "function getOAuthConfig() { return { api: 'Google', clientId: 'x' } }", {
    oauth: { ...GOOGLE, prompt: 'consent' },
  })
  await expect(chooserWith(GOOGLE).choose(asking(solution))).rejects.toMatchObject({
    code: 'oauth_configuration',
    message: 'getOAuthConfig: "apiSecret" is missing; Google requires it',
  })
})

test('OAUTH_AUTHENTICATOR: null means that no configuration applies', async () => {
  const choose = chooserWith(null).choose(asking(scripted('auth', SCRIPT), { tenant: 'west' }))
  await expect(choose).rejects.toMatchObject({
    code: 'oauth_configuration',
    message: 'getOAuthConfig returned null: no configuration matches the query parameters',
    detail: 'address',
  })
})

test('OAUTH_AUTHENTICATOR: an empty object is an invalid configuration, not a missing one', async () => {
  const choose = chooserWith(null).choose(asking(scripted('auth', 'const getOAuthConfig = async () => ({})')))
  await expect(choose).rejects.toMatchObject({ message: expect.stringMatching(/^getOAuthConfig: "api" is missing/) })
})

test('OAUTH_AUTHENTICATOR: an error that getOAuthConfig throws is logged once with its position, and is not shown to the user', async () => {
  const from = lab.lines.length
  const source = "function getOAuthConfig(queryParams) {\n  throw new Error('no ' + queryParams.custom_key)\n}"
  const choose = chooserWith(null).choose(asking(scripted('auth', source), { custom_key: 'hunter2' }))
  await expect(choose).rejects.toMatchObject({
    code: 'oauth_script',
    message: 'getOAuthConfig failed with the error script_error',
  })
  expect(lab.lines.slice(from)).toEqual([
    {
      level: 'error',
      code: 'script_error',
      message: 'Error: no [custom_key]',
      position: { file: 'modules/auth/globals.js', line: 2, column: 9 },
      correlationId: 'TEST0-00000',
    },
  ])
})

test('OAUTH_AUTHENTICATOR: CALL_TIME limits the run time of getOAuthConfig', async () => {
  const choose = chooserWith(null).choose(asking(scripted('main', 'function getOAuthConfig() { for (;;); }')))
  await expect(choose).rejects.toMatchObject({
    code: 'oauth_script',
    message: 'getOAuthConfig failed with the error script_timeout',
  })
})

test('OAUTH_AUTHENTICATOR: if no sandbox process is free, the error code is oauth_busy', async () => {
  const failure = { code: 'sandbox_busy', message: 'no process', milliseconds: 0 } as const
  const runEntry: EntryRunner = async () => ({ failure, effects: noEffects(), values: {}, hasValues: false })
  const choose = chooserWith(null, runEntry).choose(asking(scripted('auth', SCRIPT)))
  await expect(choose).rejects.toMatchObject({ code: 'oauth_busy' })
})

test('OAUTH_AUTHENTICATOR: endpoints that a script returns must be on allowed hosts', async () => {
  for (const issuer of [
    'http://169.254.169.254',
    'javascript:alert(1)',
    'https://user:pw@x.org',
    'http://127.0.0.1:8081',
  ]) {
    const source = `function getOAuthConfig() { return { api: 'Custom', clientId: 'x', issuer: ${JSON.stringify(issuer)} } }`
    const choose = chooserWith(null).choose(asking(scripted('auth', source)))
    const message = expect.stringMatching(/^getOAuthConfig: "issuer" must/)
    await expect(choose).rejects.toMatchObject({ code: 'oauth_configuration', message })
  }
})

// --- fallbackOf: without a configuration ---

test('fallbackOf returns login_failed_url from the effective settings', async () => {
  const solution = oauthSolution({ ...GOOGLE, login_failed_url: '/of-author' })
  expect(await chooserWith(null).fallbackOf(solution)).toBe('/of-author')
  expect(await chooserWith({ login_failed_url: '/of-operator' }).fallbackOf(solution)).toBe('/of-operator')
  expect(await chooserWith(null).fallbackOf(oauthSolution(GOOGLE))).toBeNull()
  expect(await chooserWith(null).fallbackOf(oauthSolution())).toBeNull()
  const bySolution = scripted('auth', SCRIPT, { oauth: { ...GOOGLE, login_failed_url: '/of-author' } })
  expect(await chooserWith({ login_failed_url: '/of-operator' }).fallbackOf(bySolution)).toBe('/of-author')
})
