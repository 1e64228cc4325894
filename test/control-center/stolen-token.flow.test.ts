import { randomUUID } from 'node:crypto'
import type { Layer } from '@koa/router'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Report } from '../../base/protocol/protocol.ts'
import { satelliteApi } from '../../control-center/satellite-api.ts'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { ask } from '../support/http.ts'
import { addPackage, type TestVersion, versionOf } from '../support/managed.ts'
import { SimulatedHost, sendOtlp } from '../support/otlp.ts'

// An attacker has the token of the environment `mine`. The attacker also knows everything in `theirs`, an environment
// of the same organisation: names, digests, even a user's password. The test tries every Satellite route with that
// token.

const PASSWORD = 'seven green bottles stand'
const SECRET = 'a permission of theirs'
const LINE = 'a line of theirs'

let center: TestCenter
let mine: { readonly id: string; readonly token: string }
let theirs: { readonly id: string; readonly token: string }
let version: TestVersion
let uid: string

beforeAll(async () => {
  center = await startTestCenter()
  mine = await center.environment('mine')
  theirs = await center.environment('theirs')
  version = await versionOf('1.0.0')
  await addPackage(center, version)
  const users = 'organisations/acme/solutions/crm/users'
  const wanted = { username: 'anna', email: 'anna@example.org', permissions: [SECRET], password: PASSWORD }
  const made = await center.api('POST', users, wanted)
  expect([made.status, made.text]).toEqual([201, made.text])
  uid = made.body.uid ?? made.body.user.uid
  const solutions = { crm: { sha256: version.sha256 } }
  expect((await center.api('PUT', 'organisations/acme/environments/theirs/desired', { solutions })).status).toBe(200)
  expect((await center.api('PUT', 'organisations/acme/environments/theirs/solutions/crm')).status).toBeLessThan(300)
  await askAs(theirs.token, 'POST', '/satellite/v1/report', reportOf(theirs.id))
  await send(theirs.token, LINE)
})
afterAll(() => center?.stop())

function askAs(token: string, method: string, path: string, body?: unknown) {
  return ask(`${center.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

/** Sends telemetry that names `theirs` in every field that a sender controls. */
async function send(token: string, message: string): Promise<void> {
  const host = new SimulatedHost()
  const labels = { environment: theirs.id, organisation: 'acme', 'solhost.environment': theirs.id, solution: 'crm' }
  host.add('solhost_logins_total', { ...labels, result: 'ok' })
  const signals = { metrics: host.metrics(), logs: host.logs([{ message, labels }]) }
  for (const [signal, told] of Object.entries(signals)) {
    const answer = await sendOtlp(center.url, token, signal as keyof typeof signals, told, { format: 'json' })
    expect(answer.status).toBe(200)
  }
}

function reportOf(node: string): Report {
  return {
    node,
    version: '9.9.9',
    number: 0,
    outcome: 'none',
    results: [],
    solutions: [{ name: 'crm', sha256: version.sha256, version: '1.0.0' }],
    health: 'bad',
    findings: ['told by whoever has the token'],
  }
}

/** The request body for each route, with correct data from `theirs`. */
const BODIES: Readonly<Record<string, () => unknown>> = {
  '/satellite/v1/report': () => reportOf(theirs.id),
  '/satellite/v1/solutions/:solution/authenticate': () => ({
    username: 'anna',
    password: PASSWORD,
    address: '192.0.2.1',
  }),
  '/satellite/v1/solutions/:solution/refresh': () => ({ uid, since: 0 }),
}

/**
 * @returns everything that the owner sees in `theirs`, except when the environment was last seen and when its token was
 * last used
 */
async function seenOfTheirs(): Promise<string> {
  const one = 'organisations/acme/environments/theirs'
  const paths = [one, `${one}/desired`, `${one}/tokens`, 'organisations/acme/logs?environment=theirs']
  const answers = await Promise.all(paths.map((path) => center.api('GET', path)))
  for (const [at, { status }] of answers.entries()) expect([paths[at], status]).toEqual([paths[at], 200])
  return answers.map(({ text }) => text.replace(/"(lastSeenAt|lastUsedAt)":\d+/g, '')).join('\n')
}

test('a stolen token can neither read nor change anything in another environment, through any route', async () => {
  await expect.poll(seenOfTheirs).toContain(LINE)
  const before = await seenOfTheirs()
  const routes = satelliteApi(center.parts).stack.flatMap(({ path, methods }: Layer) =>
    methods.filter((method) => method !== 'HEAD').map((method) => ({ method, path: String(path) })),
  )
  const answers: Record<string, number> = {}
  for (const { method, path } of routes) {
    const address = path.replace(':sha256', version.sha256).replace(':solution', 'crm')
    expect([path, /:\w/.test(address)]).toEqual([path, false])
    const needed = method === 'POST' ? BODIES[path] : () => undefined
    if (needed === undefined) throw new Error(`say what ${path} is sent`)
    const answer = await askAs(mine.token, method, address, needed())
    answers[`${method} ${path}`] = answer.status
    // The OpenAPI description is public.
    if (path.endsWith('/openapi.json')) continue
    for (const text of [theirs.id, SECRET, LINE, uid]) expect([path, answer.text.includes(text)]).toEqual([path, false])
  }
  expect(answers).toEqual({
    'GET /satellite/v1/openapi.json': 200,
    'GET /satellite/v1/key': 200,
    'GET /satellite/v1/desired': 204,
    'GET /satellite/v1/bundles/:sha256': 404,
    'POST /satellite/v1/report': 204,
    'GET /satellite/v1/solutions/:solution/login-page': 404,
    'POST /satellite/v1/solutions/:solution/authenticate': 404,
    'POST /satellite/v1/solutions/:solution/refresh': 404,
  })
  expect(await seenOfTheirs()).toBe(before)
})

test('telemetry sent with a stolen token belongs to its own environment, whatever it claims', async () => {
  const line = `by a thief ${randomUUID()}`
  await send(mine.token, line)
  await expect
    .poll(async () => (await center.api('GET', 'organisations/acme/logs?environment=mine')).text)
    .toContain(line)
  expect((await center.api('GET', 'organisations/acme/logs?environment=theirs')).text).not.toContain(line)
})

test('a stolen token gives no access to the API or to pages', async () => {
  for (const path of ['/api/organisations/acme/environments', '/api/account', '/o/acme/environments']) {
    expect([path, (await askAs(mine.token, 'GET', path)).status]).toEqual([path, path.startsWith('/api') ? 401 : 302])
  }
})

test('after it is revoked, the token is rejected immediately', async () => {
  const one = 'organisations/acme/environments/mine/tokens'
  const { body } = await center.api('GET', one)
  for (const { id } of body.items) await center.api('DELETE', `${one}/${id}`)
  expect((await askAs(mine.token, 'GET', '/satellite/v1/key')).status).toBe(401)
})
