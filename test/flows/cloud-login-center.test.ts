import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FIRST_DESIGN } from '../../control-center/login-pages/design.ts'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { addCloudSolution, CLOUD_PASSWORD, startSatellite } from '../support/cloud.ts'
import { askAdmin, visit } from '../support/users.ts'

const home = mkdtempSync(join(tmpdir(), 'cloud-login-center-'))
const SOLUTION = 'organisations/acme/solutions/harbour'

let center: TestCenter
let host: Awaited<ReturnType<typeof startSatellite>>
let uid = ''

beforeAll(async () => {
  center = await startTestCenter({}, { home })
  const { token } = await center.environment('port')
  host = await startSatellite(center, { REMOTE_ENVIRONMENT_TOKEN: token })
  await addCloudSolution(host)
  expect((await center.api('PUT', 'organisations/acme/environments/port/solutions/harbour')).status).toBe(204)
  expect((await center.api('PUT', `${SOLUTION}/roles/Crew`, { permissions: ['Pilots', 'Elsewhere'] })).status).toBe(200)
  const made = await center.api('POST', `${SOLUTION}/users`, {
    username: 'anna',
    password: CLOUD_PASSWORD,
    roles: ['Crew'],
    permissions: ['Users'],
    tenant: ['acme', 7],
  })
  expect(made.status).toBe(201)
  uid = made.body.uid
})
afterAll(async () => {
  await host.stop()
  await center.stop()
  rmSync(home, { recursive: true })
})

/** Changes a user at the control center. */
const change = async (body: object) =>
  expect((await center.api('PATCH', `${SOLUTION}/users/${uid}`, body)).status).toBe(200)
const heading = async () => /<h1[^>]*>([^<]*)/.exec((await (await visit(host, 'harbour')).open()).text)?.[1]

test('PLATFORM_CLOUD: a control center user signs in at the Satellite with roles, permissions and tenant values', async () => {
  const browser = await visit(host, 'harbour')
  expect((await browser.signIn('anna', 'not this one')).status).toBe(401)
  expect((await browser.signIn('anna', CLOUD_PASSWORD)).status).toBe(303)
  const session = (await browser.session()).json() as { permissions: string[] }
  expect(session).toMatchObject({ username: 'anna', uid, tenant: ['acme', 7] })
  expect(session.permissions.toSorted()).toEqual(['Pilots', 'Users'])
})

test('PLATFORM_CLOUD: a login page published in the control center is shown at the Satellite within a minute', async () => {
  const before = await heading()
  const texts = { ...FIRST_DESIGN.texts, default: { ...FIRST_DESIGN.texts.default, title: 'Port of Acme' } }
  const design = { ...FIRST_DESIGN, texts: { ...texts, en: { title: 'Port of Acme' } } }
  const published = await center.api('PUT', `${SOLUTION}/login-page`, { design })
  expect([published.status, before === 'Port of Acme']).toEqual([201, false])
  await host.setClock(61_000)
  await expect.poll(() => heading()).toBe('Port of Acme')
  const { items } = await askAdmin(host, 'GET', 'solutions/harbour/log')
  expect(items).toEqual([])
})

test('PLATFORM_CLOUD: a remembered login survives a control center outage, applies changes, and ends when the user is disabled', async () => {
  const browser = await visit(host, 'harbour')
  expect((await browser.signIn('anna', CLOUD_PASSWORD, { remember: 'on' })).status).toBe(303)
  browser.close()
  await change({ permissions: [] })
  expect((await browser.open()).text).toContain('Signed in as anna')
  expect((await browser.session()).json()).toMatchObject({ permissions: ['Pilots'] })
  const { port } = new URL(center.url)
  await center.stop()
  expect((await browser.session()).status).toBe(200)
  browser.close()
  expect((await browser.open()).status).toBe(503)
  center = await startTestCenter({ PORT: port }, { home })
  expect((await browser.open()).text).toContain('Signed in as anna')
  browser.close()
  await change({ enabled: false })
  expect((await browser.open()).text).toContain('name="password"')
  expect(browser.cookie('remember')).toBeUndefined()
  expect((await browser.signIn('anna', CLOUD_PASSWORD)).status).toBe(401)
})

test('PLATFORM_CLOUD: a solution that the environment does not have is reported to the operator', async () => {
  await addCloudSolution(host, 'lost')
  expect((await (await visit(host, 'lost')).signIn('anna', CLOUD_PASSWORD)).status).toBe(503)
  expect((await askAdmin(host, 'GET', 'health')).cloudLogins).toContainEqual({ solution: 'lost', problem: 'unknown' })
})
