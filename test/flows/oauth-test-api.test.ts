import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiOf, codeOf } from '../support/api.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { failure, type MisbehavingProvider, startMisbehavingProvider } from '../support/misbehaving-provider.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

let host: TestHost
let provider: MisbehavingProvider
const { send, get, items } = apiOf(() => host)

beforeAll(async () => {
  provider = await startMisbehavingProvider()
  host = await startTestHost({ OAUTH_ALLOWED_HOSTS: provider.hostPort })
  const auth = moduleFile('auth', { type: 'authenticator' })
  const files = { ...auth, 'modules/auth/globals.js': 'function onSolutionOpen() {}' }
  await host.upload('crm', await bundleOf({ authenticator: 'OAUTH', modules: ['auth'] }, files))
})
afterAll(async () => {
  await host.stop()
  await provider.stop()
})

async function stepsOf(body?: object): Promise<Record<string, string>> {
  const answer = await send('POST', '/solutions/crm/oauth/test', body)
  expect(answer.status).toBe(200)
  const { steps } = answer.json() as { steps: { step: string; result: string }[] }
  return Object.fromEntries(steps.map(({ step, result }) => [step, result]))
}

const SOUND = { settings: 'ok', discovery: 'ok', endpoints: 'ok', keys: 'ok', secret: 'skipped', clock: 'ok' }

test('oauth test: settings that are sent are tried with the provider, and not kept', async () => {
  const { issuer } = provider.play()
  expect(await stepsOf({ api: 'Custom', clientId: 'one', issuer })).toEqual(SOUND)
  expect(await get('/solutions/crm/oauth')).toMatchObject({ settings: null })
})

test('oauth test: without a body those that are set are tried', async () => {
  const { issuer } = provider.play()
  expect(await stepsOf()).toMatchObject({ settings: 'failed', discovery: 'skipped' })
  await send('PUT', '/solutions/crm/oauth', { api: 'Custom', clientId: 'one', issuer })
  expect(await stepsOf()).toEqual(SOUND)
  await send('DELETE', '/solutions/crm/oauth')
})

test('oauth test: a key set that fails and a secret that is missing are told', async () => {
  const { issuer } = provider.play({ keySet: failure })
  const steps = await stepsOf({ api: 'Custom', clientId: 'one', apiSecret: '%%IDP%%', issuer })
  expect(steps).toEqual({ ...SOUND, keys: 'failed', secret: 'failed' })
})

test('oauth test: a host in a private network that the operator did not list is not asked', async () => {
  const body = { api: 'Custom', clientId: 'one', issuer: 'https://127.0.0.1:1' }
  const answer = await send('POST', '/solutions/crm/oauth/test', body)
  const { steps } = answer.json() as { steps: { step: string; result: string; message: string }[] }
  expect(steps.find(({ step }) => step === 'discovery')).toMatchObject({
    result: 'failed',
    message: expect.stringContaining('OAUTH_ALLOWED_HOSTS'),
  })
})

test('oauth test: what PUT would refuse is refused', async () => {
  const answer = await send('POST', '/solutions/crm/oauth/test', { api: 'Custom', apiSecret: 'in the clear' })
  expect(codeOf(answer)).toEqual([422, 'ERR_REQUEST_INVALID'])
})

test('oauth: the address to register is that of the pages, on the admin port too', async () => {
  const redirectAddress = `${host.url}/solution/crm/app_oauth/index.html`
  expect(await get('/solutions/crm/oauth/redirect-address')).toEqual({ redirectAddress })
  const onAdminPort = await fetch(`${host.adminUrl}/admin/api/solutions/crm/oauth/redirect-address`, {
    headers: { authorization: host.admin },
  })
  expect(await onAdminPort.json()).toEqual({ redirectAddress })
})

test('oauth: the providers are listed with what they ask for', async () => {
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
