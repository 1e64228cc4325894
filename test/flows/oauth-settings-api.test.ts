import { beforeAll, expect, test } from 'vitest'
import { type Answer, ask } from '../support/http.ts'
import { type PlayedHost, sharedPlayedHost } from '../support/played-host.ts'
import { bundleOf, type Files, moduleFile } from '../support/zip.ts'

let host: PlayedHost['host']
let listed: string
beforeAll(async () => {
  const played = await sharedPlayedHost()
  host = played.host
  listed = played.provider.base
  await upload('set-crm', {
    authenticator: 'OAUTH',
    oauth: { api: 'Google', clientId: 'of the author', apiSecret: '%%IDP%%' },
  })
  await upload('set-bare', { authenticator: 'OAUTH' })
  const open = await host.upload('set-open', await bundleOf({ name: 'set-open', authenticator: 'NONE' }))
  expect(open.status).toBe(201)
})

const SCRIPT = 'function onSolutionOpen() {}'
const AUTH = { ...moduleFile('auth', { type: 'authenticator' }), 'modules/auth/globals.js': SCRIPT }

async function upload(name: string, manifest: object, files: Files = {}) {
  const answer = await host.upload(
    name,
    await bundleOf({ name, modules: ['auth'], ...manifest }, { ...AUTH, ...files }),
  )
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

function send(method: string, path: string, body?: unknown, authorization = host.admin): Promise<Answer> {
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  return ask(`${host.url}/admin/api${path}`, {
    method,
    headers: { authorization, ...type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

const codeOf = (answer: Answer) => [answer.status, (answer.json() as { code: string }).code]

async function bearerWith(scopes: readonly string[]): Promise<string> {
  const made = await send('POST', '/tokens', { name: 'test', scopes })
  return `Bearer ${(made.json() as { token: string }).token}`
}

test('oauth settings: GET returns them as set; after DELETE they no longer exist, and a second DELETE returns 404', async () => {
  const path = '/solutions/set-crm/oauth'
  const settings = { clientId: 'of the operator', tenant: 'common', api: 'Microsoft', prompt: 'login', max_age: 60 }
  expect((await send('GET', path)).json()).toMatchObject({ settings: null })
  const put = await send('PUT', path, settings)
  expect(put.status).toBe(200)
  expect(put.json()).toMatchObject({ settings })
  expect((await send('GET', path)).json()).toEqual(put.json())
  expect((await send('DELETE', path)).status).toBe(204)
  expect(codeOf(await send('DELETE', path))).toEqual([404, 'ERR_NOT_FOUND'])
  expect((await send('GET', path)).json()).toMatchObject({ settings: null })
})

test('oauth settings: the response contains warnings about settings that would prevent sign-ins', async () => {
  const warnings = async (name: string, settings: object) => {
    const answer = await send('PUT', `/solutions/${name}/oauth`, settings)
    expect(answer.status).toBe(200)
    return (answer.json() as { warnings: unknown[] }).warnings
  }
  const secret = {
    code: 'secret_missing',
    message: "The solution has no secret IDP. Set the secret, and allow it for the token endpoint's host.",
  }
  expect(await warnings('set-crm', { clientId: 'x' })).toEqual([secret])
  expect(await warnings('set-crm', { tenant: 'common' })).toEqual([
    {
      code: 'incomplete',
      message:
        '"oauth" in solution.json, overridden by the operator’s settings: "tenant" is a setting for Microsoft, not for Google; remove it',
    },
  ])
  expect(await warnings('set-bare', { api: 'Custom', clientId: 'x', issuer: 'http://127.0.0.1:1' })).toEqual([
    {
      code: 'incomplete',
      message:
        'the operator’s OAuth settings: "issuer" must be an https URL, unless the operator allows http for 127.0.0.1:1 in OAUTH_ALLOWED_HOSTS',
    },
  ])
  expect(await warnings('set-bare', { api: 'Custom', clientId: 'x', issuer: listed })).toEqual([])
  expect(await warnings('set-open', { api: 'Google' })).toEqual([
    {
      code: 'not_used',
      message:
        'These settings have no effect: the active version has the authenticator NONE, which does not use OAuth settings.',
    },
  ])
  const put = await send('PUT', '/solutions/set-crm/secrets/IDP', { value: 'v', hosts: ['oauth2.googleapis.com'] })
  expect(put.status).toBe(204)
  expect(await warnings('set-crm', {})).toEqual([])
})

test('oauth settings: GET reports that nobody can sign in to a solution without settings', async () => {
  await send('DELETE', '/solutions/set-bare/oauth')
  expect((await send('GET', '/solutions/set-bare/oauth')).json()).toEqual({
    settings: null,
    warnings: [
      { code: 'incomplete', message: 'OAuth is not configured, so users cannot sign in. Add the OAuth settings.' },
    ],
  })
})

test.each([
  ['a secret itself', { apiSecret: 'hunter2' }],
  ['a placeholder within a secret', { apiSecret: 'hunter2 %%IDP%%' }],
  ['a placeholder elsewhere', { prompt: '%%IDP%%' }],
  ['a parameter that the platform sets', { redirect_uri: 'https://evil.example/hunter2' }],
  ['an unknown provider', { api: 'Gogle' }],
  ['a URL with another scheme', { issuer: 'javascript:alert(1)' }],
  ['a line break', { prompt: 'hunter2\r\n' }],
  ['an object', { prompt: { hunter2: 1 } }],
  ['null', { prompt: null }],
  ['61 settings', Object.fromEntries(Array.from({ length: 61 }, (_, n) => [`a${n}`, 1]))],
  ['a list', []],
])('oauth settings: %s is rejected, and the error does not show the value', async (_what, settings) => {
  const answer = await send('PUT', '/solutions/set-crm/oauth', settings)
  expect(codeOf(answer)).toEqual([422, 'ERR_REQUEST_INVALID'])
  expect(answer.text).not.toContain('hunter2')
})

test('oauth settings: only the admin account can set them; a token can read its solution’s settings', async () => {
  const bearer = await bearerWith(['solutions:set-crm:write'])
  expect(codeOf(await send('PUT', '/solutions/set-crm/oauth', {}, bearer))).toEqual([403, 'ERR_FORBIDDEN'])
  expect(codeOf(await send('DELETE', '/solutions/set-crm/oauth', undefined, bearer))).toEqual([403, 'ERR_FORBIDDEN'])
  expect((await send('GET', '/solutions/set-crm/oauth', undefined, bearer)).status).toBe(200)
  expect(codeOf(await send('GET', '/solutions/set-bare/oauth', undefined, bearer))).toEqual([403, 'ERR_FORBIDDEN'])
})

test('oauth settings: an unknown solution returns 404, another method 405', async () => {
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const body = method === 'PUT' ? {} : undefined
    expect(codeOf(await send(method, '/solutions/nobody/oauth', body))).toEqual([404, 'ERR_SOLUTION_NOT_FOUND'])
  }
  expect((await send('POST', '/solutions/set-crm/oauth', {})).status).toBe(405)
})

test('oauth settings: changes and rejections are recorded in the audit log, without the settings', async () => {
  await send('PUT', '/solutions/set-crm/oauth', { clientId: 'seen-nowhere' })
  await send('PUT', '/solutions/set-crm/oauth', { apiSecret: 'seen-nowhere' })
  const audit = await send('GET', '/audit?solution=set-crm&action=solution-oauth&limit=2')
  expect((audit.json() as { items: unknown[] }).items).toMatchObject([
    { actor: 'admin', outcome: 'ERR_REQUEST_INVALID' },
    { actor: 'admin', outcome: 'ok' },
  ])
  expect(audit.text).not.toContain('seen-nowhere')
  expect(host.logged()).not.toContain('seen-nowhere')
})

test('oauth settings: the OpenAPI description contains them', async () => {
  const { paths, components } = (await send('GET', '/openapi.json')).json() as {
    paths: Record<string, object>
    components: { schemas: Record<string, { properties: object }> }
  }
  expect(Object.keys(paths['/admin/api/solutions/{name}/oauth'] ?? {})).toEqual(['parameters', 'get', 'put', 'delete'])
  expect(Object.keys(components.schemas.OAuthSettingsForm?.properties ?? {})).toContain('token_endpoint_auth_method')
})

// --- OAuth settings in the report of an upload ---

test('upload: OAUTH without settings, and a secret in the manifest, cause warnings', async () => {
  const codes = async (name: string, manifest: object) =>
    ((await upload(name, manifest)).body.warnings as { code: string; message: string }[]).map(({ code }) => code)
  expect(await codes('none', { authenticator: 'OAUTH' })).toEqual(['oauth_missing'])
  const oauth = { api: 'Google', clientId: 'x', apiSecret: 'hunter2' }
  const written = await upload('written', { authenticator: 'OAUTH', oauth })
  expect(written.body.warnings).toMatchObject([{ code: 'oauth_secret_written', file: 'solution.json' }])
  expect(JSON.stringify(written.body)).not.toContain('hunter2')
  expect(await codes('fine', { authenticator: 'OAUTH', oauth: { ...oauth, apiSecret: '%%IDP%%' } })).toEqual([])
})

test.each([
  [{ clientId: '%%IDP%%' }],
  [{ apiSecret: 'a%%IDP%%' }],
  [{ hint: '%%IDP%%' }],
  [{ state: 'x' }],
  [{ hint: 'a\r\nb' }],
])('upload: oauth in a manifest with %j is rejected', async (change) => {
  const oauth = { api: 'Google', clientId: 'x', ...change }
  const { status, body } = await upload('refused', { authenticator: 'OAUTH', oauth })
  expect(status).toBe(422)
  expect(body.faults).toMatchObject([
    { code: 'manifest_invalid', message: expect.stringContaining(`"oauth.${Object.keys(change)[0]}" must`) },
  ])
})

test('upload: getOAuthConfig can be in the authenticator or in main’s scripts, but not in another module', async () => {
  const manifest = { authenticator: 'OAUTH_AUTHENTICATOR', modules: ['auth', 'base'] }
  const base = moduleFile('base')
  const configure = 'function getOAuthConfig() { return null }'
  const statusWith = async (files: Files) => (await upload('chosen', manifest, { ...base, ...files })).status
  expect(await statusWith({ 'modules/auth/scopes/own.js': configure })).toBe(201)
  expect(await statusWith({ 'globals.js': configure })).toBe(201)
  expect(await statusWith({ 'modules/base/globals.js': configure })).toBe(422)
  // The upload check runs the main solution without its other modules, but only if the main solution provides the
  // settings.
  const needsBase = { 'modules/base/globals.js': 'var shared = 1', 'globals.js': 'shared++' }
  expect(await statusWith({ ...needsBase, 'modules/auth/scopes/own.js': configure })).toBe(201)
  expect(await statusWith({ ...needsBase, 'scopes/own.js': configure })).toBe(422)
})
