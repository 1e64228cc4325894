import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { signInToAdmin } from '../support/admin.ts'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import type { TestHost } from '../support/host.ts'
import { activeOf, addPackage, cloudOf, startSatellite, type TestVersion, versionOf } from '../support/managed.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

const OFTEN = { interval: 50 }
let center: TestCenter
let v1: TestVersion
let v2: TestVersion
let tooLarge: TestVersion
const satellites: TestHost[] = []
beforeAll(async () => {
  center = await startTestCenter()
  v1 = await versionOf('1.0.0')
  v2 = await versionOf('2.0.0')
  // The Satellites in these tests accept bundles with at most two files.
  tooLarge = await versionOf('3.0.0', { 'globals.js': '', 'scopes/more.js': '' })
  for (const version of [v1, v2, tooLarge]) await addPackage(center, version)
})
afterEach(async () => {
  for (const satellite of satellites.splice(0)) await satellite.stop()
})
afterAll(() => center.stop())

async function satelliteOf(name: string, properties: Record<string, string> = {}) {
  const { token } = await center.environment(name)
  const satellite = await startSatellite(center, token, { BUNDLE_FILES: '2', ...properties })
  satellites.push(satellite)
  return satellite
}

async function desire(name: string, body: object) {
  const answer = await center.api('PUT', `organisations/acme/environments/${name}/desired`, body)
  expect(answer.status).toBe(200)
  return answer.body
}

async function desired(name: string) {
  return (await center.api('GET', `organisations/acme/environments/${name}/desired`)).body
}

async function rollOut(version: TestVersion, environments: readonly string[], more: object = {}) {
  const body = { version: `crm@${version.sha256}`, environments, ...more }
  const answer = await center.api('POST', 'organisations/acme/rollouts', body)
  expect(answer.status).toBe(201)
  return answer.body.id as string
}

const rollout = async (id: string) => (await center.api('GET', `organisations/acme/rollouts/${id}`)).body
const move = (id: string, name: string) => center.api('POST', `organisations/acme/rollouts/${id}/${name}`)

function stateOf({ state, steps }: { state: string; steps: { environment: string; state: string }[] }) {
  return [state, ...steps.map((step) => `${step.environment} ${step.state}`)].join(', ')
}

test('managed: a desired version and settings are applied, reported, and kept after a restart', async () => {
  const home = mkdtempSync(join(tmpdir(), 'managed-test-'))
  const { token } = await center.environment('kept')
  const first = await startSatellite(center, token, {}, { home })
  const { number } = await desire('kept', {
    solutions: { crm: { sha256: v1.sha256 } },
    settings: { defaultSolution: 'crm', logLevel: 'warn', oauth: { crm: { api: 'Google', clientId: 'abc' } } },
  })
  await expect.poll(async () => (await desired('kept')).nodes[0]?.number, OFTEN).toBe(number)
  const [node] = (await desired('kept')).nodes
  expect(node).toMatchObject({
    outcome: 'applied',
    results: [{ name: 'crm', sha256: v1.sha256, outcome: 'active' }],
    solutions: [{ name: 'crm', sha256: v1.sha256, version: '1.0.0' }],
  })
  const { body: environment } = await center.api('GET', 'organisations/acme/environments/kept')
  expect(environment.solutions).toEqual(['crm'])
  const { api } = await signInToAdmin(first)
  expect((await api('GET', 'solutions/crm/drafts')).json()).toMatchObject({ mode: 'read' })
  const draft = await api('POST', 'solutions/crm/drafts', { base: v1.sha256 })
  expect([draft.status, draft.json()]).toEqual([403, expect.objectContaining({ code: 'ERR_WORKBENCH_READ_ONLY' })])
  await first.stop()

  const again = await startSatellite({ url: 'http://127.0.0.1:9' }, token, {}, { home })
  try {
    const start = await fetch(`${again.url}/`, { redirect: 'manual' })
    expect([start.status, new URL(start.headers.get('location') ?? '').pathname]).toEqual([
      302,
      '/solution/crm/index.html',
    ])
    expect(await activeOf(again)).toBe('1.0.0')
    await expect.poll(async () => (await cloudOf(again)).state, OFTEN).toBe('away')
    expect((await cloudOf(again)).number).toBe(number)
  } finally {
    await again.stop()
    rmSync(home, { recursive: true })
  }
})

test('managed: OAuth settings from the control center apply, and are shown as such, until the operator sets some on the Satellite', async () => {
  const satellite = await satelliteOf('oauth', { BUNDLE_FILES: '100' })
  const oauth = { api: 'Google', clientId: 'of the manifest', apiSecret: '%%GOOGLE%%' }
  const bundle = await bundleOf(
    { authenticator: 'OAUTH', modules: ['auth'], oauth },
    {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': "function onSolutionOpen() { security.login('u', 'u', ['Users']) }",
    },
  )
  expect((await satellite.upload('crm', bundle)).ok).toBe(true)
  await desire('oauth', { settings: { oauth: { crm: { clientId: 'of-the-center' } } } })
  const admin = await signInToAdmin(satellite)
  const page = async () => (await admin.get('/admin/solutions/crm/oauth')).text
  await expect.poll(page, OFTEN).toContain('of-the-center')
  expect(await page()).toMatch(/of-the-center[\s\S]{0,200}Control center/)
  const put = await fetch(`${satellite.url}/admin/api/solutions/crm/oauth`, {
    method: 'PUT',
    headers: { authorization: satellite.admin, 'content-type': 'application/json' },
    body: JSON.stringify({ clientId: 'of-the-operator' }),
  })
  expect(put.status).toBe(200)
  expect(await page()).not.toContain('of-the-center')
})

test('managed: OAuth settings that contain a URL or an unknown setting are rejected', async () => {
  await center.environment('addresses')
  for (const more of [
    { issuer: 'https://evil.example' },
    { authorizationBaseUrl: 'https://evil.example' },
    { accessTokenEndpoint: 'https://evil.example' },
    { jwks_uri: 'https://evil.example' },
    { userInfoEndpoint: 'https://evil.example' },
    { domain: 'evil.example' },
    { login_failed_url: 'https://evil.example' },
    { audience: 'https://evil.example' },
    { apiSecret: 'a secret' },
    { clientId: '%%SECRET%%' },
  ]) {
    const settings = { oauth: { crm: { api: 'Custom', ...more } } }
    const answer = await center.api('PUT', 'organisations/acme/environments/addresses/desired', { settings })
    expect([more, answer.status]).toEqual([more, 422])
  }
  for (const settings of [{ grants: {} }, { adminPassword: 'x' }, { logLevel: 'silent' }]) {
    const answer = await center.api('PUT', 'organisations/acme/environments/addresses/desired/settings', settings)
    expect([settings, answer.status]).toEqual([settings, 422])
  }
})

test('managed: a rollout proceeds from one environment to the next, stops at one that rejects the version, and can be rolled back', async () => {
  const [north, south, west] = [
    await satelliteOf('north', { BUNDLE_FILES: '100' }),
    await satelliteOf('south'),
    await satelliteOf('west'),
  ]
  const places = ['north', 'south', 'west']
  const first = await rollOut(v1, places)
  await expect.poll(async () => stateOf(await rollout(first)), OFTEN).toBe('done, north done, south done, west done')
  const before = await desired('north')

  const second = await rollOut(tooLarge, places)
  await expect
    .poll(async () => stateOf(await rollout(second)), OFTEN)
    .toBe('halted, north done, south failed, west waiting')
  const halted = await rollout(second)
  expect(halted.steps[1].failure).toMatchObject({
    code: 'refused',
    message: expect.stringContaining('rejected'),
    faults: [{ message: expect.stringContaining('files') }],
  })
  expect([await activeOf(north), await activeOf(south), await activeOf(west)]).toEqual(['3.0.0', '1.0.0', '1.0.0'])
  expect((await cloudOf(south)).failed).toMatchObject([{ name: 'crm' }])
  expect((await desired('west')).solutions.crm.version).toBe('1.0.0')

  const third = await center.api('POST', 'organisations/acme/rollouts', {
    version: `crm@${v2.sha256}`,
    environments: ['west'],
  })
  expect([third.status, third.body.code]).toEqual([409, 'ERR_ROLLOUT_RUNNING'])

  expect((await move(second, 'continue')).status).toBe(200)
  await expect
    .poll(async () => stateOf(await rollout(second)), OFTEN)
    .toBe('halted, north done, south failed, west waiting')

  expect((await move(second, 'roll-back')).status).toBe(200)
  await expect
    .poll(async () => stateOf(await rollout(second)), OFTEN)
    .toBe('rolled-back, north undone, south undone, west left')
  expect([await activeOf(north), await activeOf(south), await activeOf(west)]).toEqual(['1.0.0', '1.0.0', '1.0.0'])
  const after = await desired('north')
  expect(after.solutions).toEqual(before.solutions)
  expect(after.number).toBeGreaterThan(before.number)
  expect((await move(second, 'continue')).body.code).toBe('ERR_CHANGED_MEANWHILE')
})

test('managed: a revoked token is reported once and shown on the health page, and solutions keep running', async () => {
  const { id, token } = await center.environment('revoked')
  const satellite = await startSatellite(center, token)
  satellites.push(satellite)
  await desire('revoked', { solutions: { crm: { sha256: v1.sha256 } } })
  await expect.poll(() => activeOf(satellite), OFTEN).toBe('1.0.0')
  const { environmentTokens } = center.parts
  for (const one of await environmentTokens.list(id)) await environmentTokens.remove(id, one.id)
  // Completes the pending long poll, which was sent while the token was still valid.
  await desire('revoked', { solutions: { crm: { sha256: v2.sha256 } } })
  await expect.poll(async () => (await cloudOf(satellite)).state, OFTEN).toBe('barred')
  expect(await activeOf(satellite)).toBe('1.0.0')
  expect(satellite.logged().match(/rejects REMOTE_ENVIRONMENT_TOKEN/g)).toHaveLength(1)
  const health = await (await signInToAdmin(satellite)).get('/admin/health')
  expect(health.text).toContain('The control center rejects REMOTE_ENVIRONMENT_TOKEN')
  expect(health.text).toMatch(/Access denied since [^<]+<br>Last desired state: \d+/)
  const page = await fetch(`${satellite.url}/solution/crm/index.html`)
  expect(page.status).toBe(200)
})

test('managed: after the control center is killed and restarted, it resumes its rollouts, and Satellites catch up automatically', async () => {
  const home = mkdtempSync(join(tmpdir(), 'center-again-'))
  let one = await startTestCenter({}, { home })
  const port = new URL(one.url).port
  await addPackage(one, v1)
  await addPackage(one, v2)
  const [east, late] = [await one.environment('east'), await one.environment('late')]
  const satellite = await startSatellite(one, east.token)
  satellites.push(satellite)
  const start = { version: `crm@${v1.sha256}`, environments: ['east', 'late'] }
  const { body } = await one.api('POST', 'organisations/acme/rollouts', start)
  const stateNow = async () => stateOf((await one.api('GET', `organisations/acme/rollouts/${body.id}`)).body)
  await expect.poll(stateNow, OFTEN).toBe('running, east done, late running')
  await one.stop()
  await expect.poll(async () => (await cloudOf(satellite)).state, OFTEN).toBe('away')
  expect(await activeOf(satellite)).toBe('1.0.0')

  one = await startTestCenter({ PORT: port }, { home })
  try {
    await one.api('PUT', 'organisations/acme/environments/east/desired', { solutions: { crm: { sha256: v2.sha256 } } })
    await expect.poll(() => activeOf(satellite), OFTEN).toBe('2.0.0')
    expect((await cloudOf(satellite)).state).toBe('connected')
    satellites.push(await startSatellite(one, late.token))
    await expect.poll(stateNow, OFTEN).toBe('done, east done, late done')
  } finally {
    await one.stop()
    rmSync(home, { recursive: true })
  }
})
