import { beforeAll, expect, test } from 'vitest'
import { apiOf, codeOf } from '../support/api.ts'
import { failure } from '../support/misbehaving-provider.ts'
import { type PlayedHost, sharedPlayedHost } from '../support/played-host.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

let host: PlayedHost['host']
let provider: PlayedHost['provider']
const { send, get, items } = apiOf(() => host)

beforeAll(async () => {
  ;({ provider, host } = await sharedPlayedHost())
  const auth = moduleFile('auth', { type: 'authenticator' })
  const files = { ...auth, 'modules/auth/globals.js': 'function onSolutionOpen() {}' }
  await host.upload('tested', await bundleOf({ name: 'tested', authenticator: 'OAUTH', modules: ['auth'] }, files))
})

async function stepsOf(body?: object): Promise<Record<string, string>> {
  const answer = await send('POST', '/solutions/tested/oauth/test', body)
  expect(answer.status).toBe(200)
  const { steps } = answer.json() as { steps: { step: string; result: string }[] }
  return Object.fromEntries(steps.map(({ step, result }) => [step, result]))
}

const SOUND = { settings: 'ok', discovery: 'ok', endpoints: 'ok', keys: 'ok', secret: 'skipped', clock: 'ok' }

test('oauth test: the settings in the body are tested with the provider, and not stored', async () => {
  const { issuer } = provider.play()
  expect(await stepsOf({ api: 'Custom', clientId: 'one', issuer })).toEqual(SOUND)
  expect(await get('/solutions/tested/oauth')).toMatchObject({ settings: null })
})

test('oauth test: a request without a body tests the stored settings', async () => {
  const { issuer } = provider.play()
  expect(await stepsOf()).toMatchObject({ settings: 'failed', discovery: 'skipped' })
  await send('PUT', '/solutions/tested/oauth', { api: 'Custom', clientId: 'one', issuer })
  expect(await stepsOf()).toEqual(SOUND)
  await send('DELETE', '/solutions/tested/oauth')
})

test('oauth test: a key set that cannot be loaded and a missing secret are reported', async () => {
  const { issuer } = provider.play({ keySet: failure })
  const steps = await stepsOf({ api: 'Custom', clientId: 'one', apiSecret: '%%IDP%%', issuer })
  expect(steps).toEqual({ ...SOUND, keys: 'failed', secret: 'failed' })
})

test('oauth test: no request is sent to a host in a private network that the operator has not allowed', async () => {
  const body = { api: 'Custom', clientId: 'one', issuer: 'https://127.0.0.1:1' }
  const answer = await send('POST', '/solutions/tested/oauth/test', body)
  const { steps } = answer.json() as { steps: { step: string; result: string; message: string }[] }
  expect(steps.find(({ step }) => step === 'discovery')).toMatchObject({
    result: 'failed',
    message: expect.stringContaining('OAUTH_ALLOWED_HOSTS'),
  })
})

test('oauth test: settings that PUT would reject are rejected', async () => {
  const answer = await send('POST', '/solutions/tested/oauth/test', { api: 'Custom', apiSecret: 'in the clear' })
  expect(codeOf(answer)).toEqual([422, 'ERR_REQUEST_INVALID'])
})

test('oauth: the redirect URL to register contains the main port’s address, even when requested on the admin port', async () => {
  const redirectAddress = `${host.url}/solution/tested/app_oauth/index.html`
  expect(await get('/solutions/tested/oauth/redirect-address')).toEqual({ redirectAddress })
  const onAdminPort = await fetch(`${host.adminUrl}/admin/api/solutions/tested/oauth/redirect-address`, {
    headers: { authorization: host.admin },
  })
  expect(await onAdminPort.json()).toEqual({ redirectAddress })
})

test('oauth: the API lists the providers with the settings that they need', async () => {
  expect((await items('/oauth-providers')).map(({ api }) => api)).toEqual([
    'Google',
    'Microsoft',
    'Apple',
    'Okta',
    'LinkedIn',
    'GitHub',
    'Custom',
  ])
})
