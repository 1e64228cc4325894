import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAttacks, someOfEachKind } from '../attack/attacks.ts'
import { apiOf, codeOf } from '../support/api.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

type Tried = {
  outcome: string
  message: string | null
  position: object | null
  would: { command: string; text: string }[]
  result: Record<string, unknown>
  requests: object[]
  log: { message: string }[]
  milliseconds: number
  memoryBytes: number
}

let host: TestHost
const { send } = apiOf(() => host)

/** The number of requests to a server on the network. A draft must never send one. */
let reached = 0
const outside = createServer((_request, response) => {
  reached += 1
  response.end('secret')
})

beforeAll(async () => {
  await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve))
  host = await startHost('1s')
})
afterAll(async () => {
  outside.close()
  await host?.stop()
})

/** @param signInTime the maximum time of one sign-in */
function startHost(signInTime: string): Promise<TestHost> {
  const allowed = `127.0.0.1:${(outside.address() as AddressInfo).port}`
  return startTestHost({ AUTHENTICATOR_TIME: signInTime, HTTP_ALLOWED_HOSTS: allowed })
}

const AUTH = moduleFile('auth', { type: 'authenticator' })

/** Creates a draft of an uploaded solution. @returns the path of its routes */
async function draftOf(name: string, manifest: object, files: Record<string, string>): Promise<string> {
  const packed = await bundleOf({ name, ...manifest }, files)
  const uploaded = (await (await host.upload(name, packed)).json()) as { sha256: string; faults?: object }
  expect(uploaded.faults).toBeUndefined()
  const made = await send('POST', `/solutions/${name}/drafts`, { base: uploaded.sha256 })
  return `/solutions/${name}/drafts/${(made.json() as { id: string }).id}`
}

async function tryIn(draft: string, form: object): Promise<Tried> {
  const answer = await send('POST', `${draft}/try`, form)
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, ''])
  return answer.json() as Tried
}

/** The number of rows in each table, except the tables that a draft and its tries write. */
function rowsOf(): Record<string, number> {
  const db = new DatabaseSync(join(host.home, 'platform.sqlite'), { readOnly: true })
  const tables = db.prepare("select name from sqlite_master where type = 'table'").all() as { name: string }[]
  const own = ['drafts', 'draft_files', 'audit']
  const counts = tables
    .filter(({ name }) => !own.includes(name))
    .map(({ name }) => [name, Number(db.prepare(`select count(*) as count from "${name}"`).get()?.count)] as const)
  db.close()
  return Object.fromEntries(counts)
}

const foldersOfTries = () => readdirSync(join(host.home, 'tries'))

const SIGN_IN = `function onSolutionOpen(arg, q) {
  console.log('hello ' + q.username)
  if (q.password !== 'right') return null
  security.login(q.username, 'a-1', ['Users'])
  security.setTenantValue(['acme'])
  return JSON.stringify({ welcome: q.username })
}`

test('try: the response for a sign-in has its commands, its result and its log', async () => {
  const draft = await draftOf(
    'tried-auth',
    { authenticator: 'AUTHENTICATOR', modules: ['auth'] },
    {
      ...(AUTH as Record<string, string>),
      'modules/auth/globals.js': SIGN_IN,
    },
  )
  const tried = await tryIn(draft, { run: 'sign-in', params: { username: 'anna', password: 'right' } })
  expect(tried).toMatchObject({ outcome: 'returned', message: null, position: null, requests: [] })
  expect(tried.would.map(({ text }) => text)).toEqual(['would sign in anna with Users', 'would set the tenant to acme'])
  expect(tried.result.result).toEqual({ welcome: 'anna' })
  expect(tried.log).toMatchObject([{ message: 'hello anna', file: 'modules/auth/globals.js', line: 2 }])
  expect(tried.memoryBytes).toBeGreaterThan(1024 ** 2)
  const refused = await tryIn(draft, { run: 'sign-in', params: { username: 'anna', password: 'wrong' } })
  expect([refused.outcome, refused.would]).toEqual(['returned', []])
  const missing = await tryIn(draft, { run: 'oauth-config' })
  expect([missing.outcome, missing.message]).toEqual(['refused', expect.stringContaining('getOAuthConfig')])
})

test('try: a script’s error shows its file and line; an endless loop ends', async () => {
  const draft = await draftOf(
    'tried-errors',
    { authenticator: 'NONE' },
    {
      'globals.js': 'function onSolutionOpen(arg, q) {\n  if (q.loop) for (;;) {}\n  missing.call()\n}',
    },
  )
  const thrown = await tryIn(draft, { run: 'open' })
  expect(thrown).toMatchObject({
    outcome: 'script_error',
    message: expect.stringContaining('missing is not defined'),
    position: { file: 'globals.js', line: 3, column: 3 },
  })
  const endless = await tryIn(draft, { run: 'open', params: { loop: '1' } })
  expect(endless).toMatchObject({ outcome: 'script_timeout', position: { file: 'globals.js', line: 2 } })
  await send('PUT', `${draft}/files/scopes/a.js`, { text: 'var (' }, { headers: { 'if-none-match': '*' } })
  const broken = await send('POST', `${draft}/try`, { run: 'open' })
  expect([broken.status, broken.json()]).toMatchObject([
    422,
    { code: 'ERR_BUNDLE_REFUSED', faults: [{ file: 'scopes/a.js', source: 'var (' }] },
  ])
})

test('try: a form is opened for the declared user, and its button is pressed', async () => {
  const elements = [
    { type: 'text', name: 'name' },
    { type: 'button', name: 'greet', label: 'Greet', onAction: 'greet' },
  ]
  const form = { title: 'Hello', layout: [{ columns: [{ width: 6, elements }] }] }
  const draft = await draftOf(
    'tried-form',
    { authenticator: 'NONE', firstForm: 'hello' },
    {
      'forms/hello.json': JSON.stringify(form),
      'forms/hello.js':
        'function greet() { application.output(security.getUserName() + " " + security.getTenantValue()) }',
    },
  )
  const user = { username: 'ben', permissions: ['Users'], tenant: ['acme'] }
  const tried = await tryIn(draft, {
    run: 'open',
    user,
    locale: 'nl',
    events: [{ type: 'onAction', element: 'greet' }],
  })
  expect(tried).toMatchObject({ outcome: 'returned', result: { form: 'hello', locale: 'nl' } })
  expect(tried.log.map(({ message }) => message)).toEqual(['ben acme'])
  const refused = await send('POST', `${draft}/try`, { run: 'open', locale: 'Dutch' })
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('must be a language tag such as nl')])
  const missing = await tryIn(draft, { run: 'open', events: [{ type: 'onAction', element: 'none' }] })
  expect(missing).toMatchObject({
    outcome: 'refused',
    message: expect.stringContaining('none'),
    result: { form: 'hello' },
  })
})

test('try: an endpoint’s answer is shown; it gets the declared HTTP responses and an empty embedded database, and a query to a server fails with the reason', async () => {
  const url = `http://127.0.0.1:${(outside.address() as AddressInfo).port}/rates`
  const endpoint = (name: string) => ({ function: name, authentication: 'none' })
  const draft = await draftOf(
    'tried-endpoint',
    {
      authenticator: 'NONE',
      http: [new URL(url).host],
      databases: { own: { server: 'embedded' }, erp: { server: 'alpha' } },
      endpoints: { 'GET /rates/{id}': endpoint('rates'), 'GET /own': endpoint('own'), 'GET /erp': endpoint('erp') },
    },
    {
      'globals.js': `async function rates({ params }) { const answer = await plugins.http.fetch('${url}'); return { id: params.id, rate: answer.json().rate } }
async function own() { await plugins.database.query('own', 'create table a (b text)'); return plugins.database.query('own', 'select * from a') }
async function erp() { return plugins.database.query('erp', 'select 1') }`,
    },
  )
  const answers = [{ url, body: { rate: 2 } }]
  const declared = await tryIn(draft, { run: 'endpoint', address: 'GET /rates/7', answers })
  expect(declared).toMatchObject({ outcome: 'returned', result: { status: 200, body: { id: '7', rate: 2 } } })
  expect(declared.requests).toMatchObject([{ url, method: 'GET' }])
  const undeclared = await tryIn(draft, { run: 'endpoint', address: 'GET /rates/7' })
  expect(undeclared.message).toContain(
    `no response is declared for GET ${url}: declare one, then run the scripts again`,
  )
  for (let again = 0; again < 2; again++) {
    const own = await tryIn(draft, { run: 'endpoint', address: 'GET /own' })
    expect(own).toMatchObject({ outcome: 'returned', result: { status: 200, body: [] } })
  }
  const erp = await tryIn(draft, { run: 'endpoint', address: 'GET /erp' })
  expect(erp.message).toContain(
    'scripts cannot query database servers while a draft is tried out, so the query to "erp" was not sent',
  )
  expect((await tryIn(draft, { run: 'endpoint', address: 'GET /none' })).result).toMatchObject({ status: 404 })
  expect(reached).toBe(0)
})

test('try: a job gets its data, attempt and tenant; the runs that it queues are listed, but they don’t start', async () => {
  const draft = await draftOf(
    'tried-job',
    {
      authenticator: 'NONE',
      jobs: { nightly: { function: 'nightly' }, mail: { function: 'mail' } },
    },
    {
      'globals.js': `function nightly(job) {
  application.output([job.name, job.data.day, job.attempt, job.missed, job.scheduledFor, security.getTenantValue(), security.getUserName()].join(' '))
  plugins.jobs.enqueue('mail', { to: 'kim' }, { after: 60000, key: 'kim' })
  plugins.jobs.enqueue('mail', null, { tenant: ['other'] })
  return { letters: job.data.day + 1 }
}
function mail(job) {
  plugins.jobs.enqueue('mail')
  throw new Error('no ' + job.data)
}`,
    },
  )
  const before = rowsOf()
  const input = { data: { day: 3 }, attempt: 2, missed: 4, scheduledFor: 86_400_000, tenant: ['acme'] }
  const tried = await tryIn(draft, { run: 'job', job: 'nightly', ...input })
  expect(tried).toMatchObject({ outcome: 'returned', message: null, result: { result: { letters: 4 } } })
  expect(tried.log.map(({ message }) => message)).toEqual(['nightly 3 2 4 86400000 acme '])
  expect(tried.would.map(({ text }) => text)).toEqual([
    'would queue mail with {"to":"kim"} in 60000 ms',
    'would queue mail for the tenant other',
  ])
  const thrown = await tryIn(draft, { run: 'job', job: 'mail' })
  expect(thrown).toMatchObject({
    outcome: 'script_error',
    message: expect.stringContaining('no null'),
    position: { file: 'globals.js', line: 9 },
    would: [],
  })
  const missing = await tryIn(draft, { run: 'job', job: 'none' })
  expect([missing.outcome, missing.message]).toEqual(['refused', 'the solution has no job "none"'])
  const large = await send('POST', `${draft}/try`, { run: 'job', job: 'mail', data: 'x'.repeat(65_536) })
  expect(codeOf(large)).toEqual([413, 'ERR_BODY_TOO_LARGE'])
  const withUser = await send('POST', `${draft}/try`, { run: 'job', job: 'mail', user: { username: 'anna' } })
  expect(codeOf(withUser)).toEqual([422, 'ERR_REQUEST_INVALID'])
  expect(rowsOf()).toEqual(before)
  expect(foldersOfTries()).toEqual([])
})

test('try: at most TRIES_AT_ONCE drafts run at the same time, and others wait; each is in the audit log', async () => {
  const draft = await draftOf(
    'tried-together',
    { authenticator: 'NONE' },
    { 'globals.js': 'function onSolutionOpen() {}' },
  )
  const answers = await Promise.all(Array.from({ length: 4 }, () => send('POST', `${draft}/try`, { run: 'open' })))
  // On a busy machine, requests that wait too long are rejected.
  for (const answer of answers) {
    if (answer.status !== 200) expect(codeOf(answer)).toEqual([503, 'ERR_SANDBOX_BUSY'])
  }
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(2)
  expect(codeOf(await send('POST', `${draft}/try`, { run: 'nothing' }))).toEqual([422, 'ERR_REQUEST_INVALID'])
  const { items } = (await send('GET', '/audit?action=draft-try&solution=tried-together')).json() as {
    items: { target: string; outcome: string }[]
  }
  expect(items).toHaveLength(5)
  expect(items[0]).toMatchObject({ target: `draft:${draft.split('/').at(-1)}`, outcome: 'ERR_REQUEST_INVALID' })
})

test('try: the attack scripts create no row, session, request or file outside', { timeout: 600_000 }, async () => {
  // Many of the scripts loop until they exceed their time limit.
  await host.stop()
  host = await startHost('200ms')
  const draft = await draftOf(
    'tried-attacks',
    { authenticator: 'AUTHENTICATOR', modules: ['auth'], eventTypes: { probe_event: {}, probe_event_2: {} } },
    { ...(AUTH as Record<string, string>), 'modules/auth/globals.js': 'function onSolutionOpen() {}' },
  )
  const before = rowsOf()
  // Runs only one attack of each kind, because each try needs several processes. test/attack runs all of them in the same
  // way.
  const attacks = someOfEachKind(readAttacks('scripts'), 1)
  expect(attacks.length).toBeGreaterThan(6)
  let etag = (await send('GET', `${draft}/files/modules/auth/globals.js`)).headers.etag ?? ''
  for (const { name, source } of attacks) {
    const saved = await send(
      'PUT',
      `${draft}/files/modules/auth/globals.js`,
      { text: source },
      { headers: { 'if-match': etag } },
    )
    expect([name, saved.status]).toEqual([name, 200])
    etag = saved.headers.etag ?? ''
    const params = { username: 'mallory', password: 'x', custom_n: '1' }
    const tried = await send('POST', `${draft}/try`, { run: 'sign-in', params })
    // If the attack is in the script's top-level code, the request is rejected, as an upload would be.
    expect([name, tried.status]).toEqual([name, expect.toBeOneOf([200, 422])])
  }
  expect(rowsOf()).toEqual(before)
  expect(foldersOfTries()).toEqual([])
  expect(reached).toBe(0)
  expect((await send('GET', '/health')).status).toBe(200)
})
