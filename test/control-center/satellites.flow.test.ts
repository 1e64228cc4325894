import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Report } from '../../base/protocol/protocol.ts'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import type { CenterDatabase } from '../../control-center/database/tables.ts'
import { createWaiting } from '../../control-center/desired/waiting.ts'
import { createEnvironments } from '../../control-center/environments/environments.ts'
import { createEnvironmentStates } from '../../control-center/environments/states.ts'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'
import { createReports } from '../../control-center/satellites/reports.ts'
import { readStatement } from '../../host/cloud/managed/statement.ts'
import { signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { addPackage, type TestVersion, versionOf } from '../support/managed.ts'

let center: TestCenter
let v1: TestVersion
let v2: TestVersion
beforeAll(async () => {
  center = await startTestCenter()
  v1 = await versionOf('1.0.0')
  v2 = await versionOf('2.0.0')
  for (const version of [v1, v2]) await addPackage(center, version)
})
afterAll(() => center.stop())

/** Sends a request as a Satellite. */
function ask(token: string, path: string, body?: unknown): Promise<Response> {
  return fetch(`${center.url}/satellite/v1/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

const desire = (name: string, body: object, token?: string) =>
  center.api('PUT', `organisations/acme/environments/${name}/desired`, body, token)

function report(more: Partial<Report> = {}): Report {
  return {
    node: randomUUID(),
    version: '1.0.0',
    number: 0,
    outcome: 'none',
    results: [],
    solutions: [],
    health: 'good',
    findings: [],
    ...more,
  }
}

test('satellites: a desired state contains its environment, and is signed with the key that the control center shows', async () => {
  const { id, token } = await center.environment('signed')
  expect((await ask(token, 'desired?after=0')).status).toBe(204)
  const { body } = await desire('signed', { solutions: { crm: { sha256: v1.sha256 } } })
  const { publicKey } = (await (await ask(token, 'key')).json()) as { publicKey: string }
  const { statement } = (await (await ask(token, 'desired?after=0')).json()) as { statement: string }
  const { state } = await readStatement(statement, publicKey)
  expect(state).toEqual({
    environment: id,
    number: body.number,
    issuedAt: body.issuedAt,
    solutions: { crm: { sha256: v1.sha256, version: '1.0.0' } },
    settings: {},
  })
  expect((await ask(token, `desired?after=${body.number}`)).status).toBe(204)
  expect((await ask(token, 'desired?wait=56')).status).toBe(422)
})

test('satellites: a waiting request gets the next statement immediately', async () => {
  const { token } = await center.environment('waits')
  const waiting = ask(token, 'desired?after=0&wait=55')
  await desire('waits', { settings: { logLevel: 'debug' } })
  expect((await waiting).status).toBe(200)
})

test('satellites: if a token is revoked while its request is waiting, the request gets nothing', async () => {
  const { id, token } = await center.environment('gone')
  const waiting = ask(token, 'desired?after=0&wait=55')
  const { environmentTokens } = center.parts
  await expect.poll(async () => (await environmentTokens.list(id))[0]?.lastUsedAt).not.toBeNull()
  await environmentTokens.remove(id, (await environmentTokens.list(id))[0]?.id ?? '')
  await desire('gone', { solutions: { crm: { sha256: v1.sha256 } } })
  expect((await waiting).status).toBe(401)
})

test('satellites: a bundle is available only to environments whose desired state contains it', async () => {
  const { token } = await center.environment('has-it')
  const { token: other } = await center.environment('has-it-not')
  await desire('has-it', { solutions: { crm: { sha256: v1.sha256 } } })
  const answer = await ask(token, `bundles/${v1.sha256}`)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/zip'])
  expect(Buffer.from(await answer.arrayBuffer()).equals(v1.bundle)).toBe(true)
  expect((await ask(token, `bundles/${v2.sha256}`)).status).toBe(404)
  expect((await ask(other, `bundles/${v1.sha256}`)).status).toBe(404)
})

test('satellites: a version in a desired state cannot be deleted', async () => {
  await center.environment('holds')
  await desire('holds', { solutions: { crm: { sha256: v2.sha256 } } })
  const answer = await center.api('DELETE', `organisations/acme/packages/crm/versions/${v2.sha256}`)
  expect([answer.status, answer.body.detail]).toEqual([
    409,
    expect.stringContaining(
      'the desired state of the environment "holds" contains this version; change the desired state first',
    ),
  ])
})

test('satellites: reports determine an environment’s state; the worst node counts, and reports don’t add solutions', async () => {
  const { id, token } = await center.environment('reports')
  await ask(token, 'report', report())
  const solutions = [{ name: 'made-up', sha256: null, version: '' }]
  await ask(token, 'report', report({ health: 'bad', findings: ['The database does not answer.'], solutions }))
  const { body } = await center.api('GET', 'organisations/acme/environments/reports')
  expect(body).toMatchObject({ solutions: [] })
  const { environmentStates } = center.parts
  expect((await environmentStates.find(id))?.health).toEqual({
    health: 'bad',
    findings: ['The database does not answer.'],
  })
  expect((await ask(token, 'report', report({ node: 'x' }))).status).toBe(422)
})

test('satellites: someone with a token cannot fill the database with nodes', async () => {
  const { id, token } = await center.environment('crowd')
  for (let node = 0; node < 60; node++) await ask(token, 'report', report())
  expect((await center.parts.reports.live(id)).length).toBe(50)
})

test('satellites: only the known fields in an error are stored', async () => {
  const { id, token } = await center.environment('padded')
  const fault = { message: 'it is wrong', file: 'scripts/main.js', line: 3 }
  const faults = [{ ...fault, more: { of: ['everything'] } }]
  const results = [{ name: 'crm', sha256: v1.sha256, outcome: 'failed' as const, faults }]
  expect((await ask(token, 'report', report({ results }))).status).toBe(204)
  expect((await center.parts.reports.live(id))[0]?.results[0]?.faults).toEqual([fault])
  const long = [{ ...results[0], faults: [{ ...fault, file: 'x'.repeat(301) }] }]
  expect((await ask(token, 'report', { ...report(), results: long })).status).toBe(422)
})

/** Calls `work` with a new database that contains one environment. */
async function withEnvironment(work: (db: CenterDatabase, environment: string) => Promise<void>): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'reports-test-'))
  const db = await openCenterDatabase(readCenterSettings({ PLATFORM_HOME: home }))
  try {
    const organisation = { id: 'o', name: 'acme', title: 'Acme', created_at: 0 }
    await db.insertInto('organisations').values(organisation).execute()
    await work(db, (await createEnvironments(db).create('o', { name: 'one', type: 'onprem' })).id)
  } finally {
    await db.destroy()
    rmSync(home, { recursive: true, force: true })
  }
}

test('satellites: storing a report does not read other nodes’ reports', () =>
  withEnvironment(async (db, id) => {
    const time = 1_700_000_000_000
    const reports = createReports(
      db,
      () => {},
      () => time,
    )
    const findings = ['The disk is full.', 'x'.repeat(2000)]
    await reports.take(id, report({ health: 'warning', findings }))
    // Replaces the stored report with invalid JSON, so that the next `take` fails if it parses that report.
    await db.updateTable('satellite_reports').set({ content: 'no JSON' }).execute()
    await reports.take(id, report())
    const { health } = await db.selectFrom('environment_states').select('health').executeTakeFirstOrThrow()
    const state = { health: 'warning', findings: ['The disk is full.', 'x'.repeat(500)], nodes: 2 }
    expect(JSON.parse(String(health))).toEqual(state)
  }))

test('satellites: after the control center’s clock was set back, earlier reports don’t count', () =>
  withEnvironment(async (db, id) => {
    const clock = { time: 1_700_000_000_000 }
    const now = () => clock.time
    const reports = createReports(db, () => {}, now)
    const states = createEnvironmentStates(db, now)
    await reports.take(id, report())
    expect([(await reports.live(id)).length, (await states.find(id))?.isConnected]).toEqual([1, true])
    clock.time -= 60 * 60_000
    expect([(await reports.live(id)).length, (await states.find(id))?.isConnected]).toEqual([0, false])
    await reports.take(id, report())
    expect([(await reports.live(id)).length, (await states.find(id))?.isConnected]).toEqual([1, true])
  }))

test('satellites: each environment can report a limited amount per half minute, independently of others', async () => {
  const { token } = await center.environment('talks')
  const { token: other } = await center.environment('listens')
  const findings = Array.from({ length: 20 }, () => 'y'.repeat(2000))
  const padded = `${JSON.stringify(report({ findings }))}${' '.repeat(900_000)}`
  const send = () =>
    fetch(`${center.url}/satellite/v1/report`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: padded,
    })
  const answers = await Promise.all(Array.from({ length: 12 }, send))
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 204).length).toBeGreaterThan(5)
  const refused = answers.find(({ status }) => status === 429)
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await ask(other, 'report', report())).status).toBe(204)
})

test('desired states: only operators can change them, with packages of the organisation and the current sequence number', async () => {
  await center.environment('strict')
  const unknown = await desire('strict', { solutions: { crm: { sha256: 'f'.repeat(64) } } })
  expect([unknown.status, unknown.body.code]).toEqual([404, 'ERR_VERSION_NOT_FOUND'])
  const { body } = await desire('strict', { number: 0, solutions: { crm: { sha256: v1.sha256 } } })
  const late = await desire('strict', { number: 0, solutions: { crm: { sha256: v2.sha256 } } })
  expect([late.status, late.body.code]).toEqual([409, 'ERR_CHANGED_MEANWHILE'])
  const viewer = await center.tokenOf('viewer')
  expect((await desire('strict', { settings: {} }, viewer)).status).toBe(403)
  const seen = await center.api('GET', 'organisations/acme/environments/strict/desired', undefined, viewer)
  expect(seen.body).toMatchObject({ number: body.number, nodes: [] })
  const { body: acts } = await center.api('GET', 'organisations/acme/activity')
  expect(acts.items).toContainEqual(
    expect.objectContaining({ action: 'desired-change', subject: 'strict', outcome: 'ERR_CHANGED_MEANWHILE' }),
  )
})

test('rollouts: pages show the desired state and progress; a viewer cannot change anything', async () => {
  await center.environment('paged')
  await desire('paged', { solutions: { crm: { sha256: v1.sha256 } }, settings: { logLevel: 'warn' } })
  const body = { version: `crm@${v2.sha256}`, environments: ['paged'] }
  const { id } = (await center.api('POST', 'organisations/acme/rollouts', body)).body
  const person = await signInToCenter(center)
  expect((await person.get('/o/acme/rollouts')).text).toContain(`/o/acme/rollouts/${id}`)
  expect((await person.get('/o/acme/rollouts/new')).text).toContain(`crm@${v2.sha256}`)
  const page = await person.get(`/o/acme/rollouts/${id}`)
  expect(page.text).toContain(`/api/organisations/acme/rollouts/${id}/roll-back`)
  expect((await person.get('/o/acme/environments/paged/desired')).text).toContain('<option value="warn" selected>')
  const progress = await person.api('GET', `../o/acme/rollouts/${id}/progress.json`)
  expect(progress.body.html).toContain('live-steps')
  const viewer = await center.tokenOf('viewer')
  const refused = await center.api('POST', `organisations/acme/rollouts/${id}/cancel`, undefined, viewer)
  expect(refused.status).toBe(403)
  expect((await center.api('POST', `organisations/acme/rollouts/${id}/cancel`)).body.state).toBe('cancelled')
})

test('rollouts: if a rollout is cancelled while an environment is being updated, the environment’s result is still shown', async () => {
  const { token } = await center.environment('begun')
  await center.environment('later')
  const version = { sha256: v2.sha256, version: '2.0.0' }
  const body = { version: `crm@${v2.sha256}`, environments: ['begun', 'later'] }
  const rollout = `organisations/acme/rollouts/${(await center.api('POST', 'organisations/acme/rollouts', body)).body.id}`
  const states = async () => {
    const { state, steps } = (await center.api('GET', rollout)).body
    return [state, ...steps.map((step: { state: string }) => step.state)]
  }
  const desired = async () => (await center.api('GET', 'organisations/acme/environments/begun/desired')).body
  await expect.poll(async () => (await desired()).solutions).toEqual({ crm: version })
  await center.api('POST', `${rollout}/cancel`)
  // The Satellite has the new desired state already.
  expect(await states()).toEqual(['cancelled', 'running', 'left'])
  const results = [{ name: 'crm', sha256: v2.sha256, outcome: 'active' as const }]
  await ask(token, 'report', report({ number: (await desired()).number, outcome: 'applied', results }))
  await expect.poll(states).toEqual(['cancelled', 'done', 'left'])
})

test('waiting: a single database query wakes all requests whose environment has a newer statement', async () => {
  let asked = 0
  let numbers = new Map([['a', 5]])
  const waiting = createWaiting(async () => {
    asked++
    return numbers
  }, 5)
  const { signal } = new AbortController()
  const all = Array.from({ length: 1000 }, (_, at) => waiting.wait(`environment ${at % 20}`, 5, 60_000, signal))
  await expect.poll(() => asked).toBeGreaterThan(1)
  numbers = new Map(Array.from({ length: 20 }, (_, at) => [`environment ${at}`, 6]))
  await Promise.all(all)
  const before = asked
  await new Promise((resolve) => setImmediate(resolve))
  expect(asked).toBe(before)
})

test('waiting: a stop of the control center or a closed connection ends the wait, and after a stop no request waits', async () => {
  const waiting = createWaiting(async () => new Map(), 5)
  const gone = new AbortController()
  const first = waiting.wait('a', 0, 60_000, gone.signal)
  gone.abort()
  await first
  const second = waiting.wait('a', 0, 60_000, new AbortController().signal)
  waiting.stop()
  await second
  await waiting.wait('a', 0, 60_000, new AbortController().signal)
})

test('waiting: if an environment has more than 100 waiting requests, the oldest get a response', async () => {
  const waiting = createWaiting(async () => new Map(), 5)
  const { signal } = new AbortController()
  const over: number[] = []
  const wait = (environment: string, at: number) =>
    waiting.wait(environment, 0, 60_000, signal).then(() => void over.push(at))
  const all = [wait('another', -1), ...Array.from({ length: 103 }, (_, at) => wait('a', at))]
  await expect.poll(() => over).toEqual([0, 1, 2])
  waiting.stop()
  await Promise.all(all)
})
