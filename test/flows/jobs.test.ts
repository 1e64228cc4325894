import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiOf, codeOf } from '../support/api.ts'
import { runCli, temporaryFolder } from '../support/cli.ts'
import { ADMIN_PASSWORD, startTestHost, type TestHost } from '../support/host.ts'
import { type Answer, ask } from '../support/http.ts'
import { visit } from '../support/users.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf } from '../support/zip.ts'

const SCRIPT = `function report(job) {
  application.output('report ' + job.attempt)
  return { ...job, tenant: security.getTenantValue(), user: security.getUserName(), language: i18n.getCurrentLanguage(),
    hasPrototype: 'constructor' in job.data, server: application.getServerURL() }
}
function fails(job) { throw new Error('no mail server for ' + job.data.to) }
function page() {
  const refused = []
  for (const call of [() => security.logout(), () => application.showURL('/'), () => plugins.http.answer(200)]) {
    try { call() } catch (error) { refused.push(error.name) }
  }
  return { refused, login: security.login('anna', 'anna', ['Users']) }
}
function chain(job) {
  plugins.jobs.enqueue('report', { of: job.id }, { tenant: ['north'] })
  if (job.data.fails) throw new Error('after enqueue')
}
function add(request) {
  const { job, data, options } = request.body
  return plugins.jobs.enqueue(job, data, options)
}
function onSolutionOpen() {}`

const AUTHENTICATOR = `function onSolutionOpen(arg, queryParams) {
  plugins.jobs.enqueue('report', { by: queryParams.username })
  return queryParams.username !== 'mallory' && security.login(queryParams.username, queryParams.username, ['Users'])
}`

const JOBS = {
  report: { function: 'report', attempts: 2 },
  fails: { function: 'fails', attempts: 1 },
  page: { function: 'page' },
  chain: { function: 'chain', attempts: 1 },
  nightly: { function: 'report', schedule: '30 2 * * *', timeZone: 'Europe/Brussels' },
}
const ENDPOINTS = {
  'POST /add': { function: 'add', authentication: 'token' },
}
const NAME = 'post-office'

type Run = { readonly id: string; readonly job: string; readonly state: string; readonly result?: unknown } & Record<
  string,
  unknown
>

let host: TestHost
const api = apiOf(() => host)
let token = ''

const post = (path: string, body: unknown, headers: Record<string, string>): Promise<Answer> =>
  ask(`${host.url}/solution/${NAME}/api${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
const add = (job: string, data?: unknown, options?: unknown) =>
  post('/add', { job, data, options }, { authorization: `Bearer ${token}` })
const runs = (query = '') => api.items(`/solutions/${NAME}/runs${query}`) as Promise<Run[]>
const runOf = async (id: string) => (await api.get(`/solutions/${NAME}/runs/${id}`)) as Run
const ended = (id: string) =>
  waitUntil(async () => {
    const run = await runOf(id)
    expect(['succeeded', 'failed', 'cancelled']).toContain(run.state)
    return run
  })

beforeAll(async () => {
  host = await startTestHost({ JOB_TIME: '500ms', JOB_DATA: '2k', JOBS_WAITING: '20' })
  const manifest = { name: NAME, authenticator: 'DEFAULT', jobs: JOBS, endpoints: ENDPOINTS }
  const uploaded = await host.upload(NAME, await bundleOf(manifest, { 'globals.js': SCRIPT }))
  expect(uploaded.status, await uploaded.text()).toBe(201)
  const created = await api.send('POST', '/tokens', {
    name: 'queue',
    scopes: [`solutions:${NAME}:call`],
    tenant: ['south', 3],
  })
  token = (created.json() as { token: string }).token
})
afterAll(() => host.stop())

test('an endpoint queues a run, which has the caller’s tenant and no user; its result is stored and its data erased', async () => {
  const answer = await add('report', { to: 'bert' })
  const id = answer.json() as string
  expect(answer.status, answer.text).toBe(200)
  const run = await ended(id)
  expect(run, JSON.stringify(run)).toMatchObject({ state: 'succeeded', attempt: 1, data: null, tenant: ['south', 3] })
  expect(run.result).toEqual({
    id,
    name: 'report',
    data: { to: 'bert' },
    attempt: 1,
    scheduledFor: null,
    missed: 0,
    tenant: ['south', 3],
    user: null,
    language: 'en',
    hasPrototype: false,
    server: host.url.replace('127.0.0.1', 'localhost'),
  })
  const [line] = run.log as { message: string }[]
  expect(line?.message).toBe('report 1')
})

test('arguments of enqueue that are not allowed throw an error, and nothing is queued', async () => {
  const before = (await runs()).length
  const refused: readonly [unknown, unknown?, unknown?][] = [
    ['unknown'],
    ['report', 'x'.repeat(3000)],
    ['report', null, { after: -1 }],
    ['report', null, { at: 'tomorrow' }],
    ['report', null, { after: 1, at: 1 }],
    ['report', null, { key: '' }],
    ['report', null, { tenant: ['other'] }],
    ['report', null, { priority: 1 }],
  ]
  for (const [job, data, options] of refused) {
    const answer = await add(job as string, data, options)
    expect(answer.status, JSON.stringify([job, options])).toBe(500)
  }
  const { items } = (await api.get(`/solutions/${NAME}/log?limit=50`)) as { items: { message: string }[] }
  const log = items.map(({ message }) => message).join('\n')
  expect(log).toContain('plugins.jobs.enqueue: the solution has no job')
  expect(log).toContain('limit JOB_DATA: 2048')
  expect(log).toContain('the option "tenant" can be set only in a job')
  expect(await runs()).toHaveLength(before)
})

test('a run whose last attempt fails has the state failed and a log line, and can be run again', async () => {
  const { id } = (await api.send('POST', `/solutions/${NAME}/jobs/fails/run`, { data: { to: 'carol' } })).json() as Run
  const run = await ended(id)
  expect(run).toMatchObject({
    state: 'failed',
    failure: { code: 'script_error', message: expect.stringContaining('no mail server for carol') },
    data: { to: 'carol' },
  })
  // The host writes this line after it has recorded the end of the run.
  await waitUntil(async () => {
    const log = ((await runOf(id)).log as { message: string }[]).map(({ message }) => message)
    expect(log.at(-1)).toContain('the job "fails" failed after attempt 1')
  })
  const again = await api.send('POST', `/solutions/${NAME}/runs/${id}/again`)
  expect([again.status, again.json()]).toEqual([202, { id }])
  expect((await ended(id)).state).toBe('failed')
  const done = (await ended((await add('report', {})).json() as string)).id
  expect(codeOf(await api.send('POST', `/solutions/${NAME}/runs/${done}/again`))).toEqual([409, 'ERR_RUN_DONE'])
  expect(codeOf(await api.send('DELETE', `/solutions/${NAME}/runs/${done}`))).toEqual([409, 'ERR_RUN_ENDED'])
})

test('bindings that need a page throw, and a job can’t sign anybody in', async () => {
  const { id } = (await api.send('POST', `/solutions/${NAME}/jobs/page/run`)).json() as Run
  expect((await ended(id)).result).toEqual({ refused: ['TypeError', 'TypeError', 'TypeError'], login: false })
})

test('runs that a job queues are added only if the job succeeds; a job can set their tenant', async () => {
  const { id } = (await api.send('POST', `/solutions/${NAME}/jobs/chain/run`, { data: {} })).json() as Run
  await ended(id)
  const isOfChain = ({ result }: Run) => (result as { data?: { of?: string } } | null)?.data?.of === id
  await waitUntil(async () => {
    const all = await Promise.all((await runs('?job=report')).map((run) => runOf(run.id)))
    expect(all.find(isOfChain)).toMatchObject({ tenant: ['north'], state: 'succeeded' })
  })
  const before = (await runs()).length
  const failing = (await api.send('POST', `/solutions/${NAME}/jobs/chain/run`, { data: { fails: true } })).json() as Run
  expect((await ended(failing.id)).state).toBe('failed')
  expect(await runs()).toHaveLength(before + 1)
})

test('jobs are listed with their next due times, and can be paused', async () => {
  const paused = await api.send('PUT', `/solutions/${NAME}/jobs`, { paused: true })
  expect([paused.status, paused.json()]).toEqual([200, { paused: true }])
  const id = (await add('report', {})).json() as string
  const { items, ...list } = (await api.get(`/solutions/${NAME}/jobs`)) as { items: Record<string, unknown>[] }
  expect(list).toEqual({ paused: true, retryAt: null })
  expect(items.map(({ name }) => name)).toEqual(['chain', 'fails', 'nightly', 'page', 'report'])
  const nightly = items.find(({ name }) => name === 'nightly') as { next: number[] }
  expect(nightly).toMatchObject({ schedule: '30 2 * * *', timeZone: 'Europe/Brussels', last: null })
  expect(nightly.next).toHaveLength(3)
  expect((await runOf(id)).state).toBe('waiting')
  expect((await api.send('DELETE', `/solutions/${NAME}/runs/${id}`)).status).toBe(204)
  const other = (await add('report', {})).json() as string
  await api.send('PUT', `/solutions/${NAME}/jobs`, { paused: false })
  expect((await ended(other)).state).toBe('succeeded')
  expect((await runOf(id)).state).toBe('cancelled')
  const entries = await api.items('/audit?limit=50')
  const audited = entries.map(({ action, target }) => `${action} ${target}`)
  expect(audited).toContain('jobs-pause paused')
  expect(audited).toContain('job-run job:fails')
  expect(audited).toContain(`job-cancel run:${id}`)
})

test('data and results need the scope write', async () => {
  const created = await api.send('POST', '/tokens', { name: 'reader', scopes: [`solutions:${NAME}:read`] })
  const authorization = `Bearer ${(created.json() as { token: string }).token}`
  const [run] = await runs('?job=fails')
  const shown = (await api.send('GET', `/solutions/${NAME}/runs/${run?.id}`, undefined, { authorization })).json()
  expect(shown).toMatchObject({ data: null, result: null, state: 'failed' })
})

test('more waiting runs than JOBS_WAITING are refused', async () => {
  await api.send('PUT', `/solutions/${NAME}/jobs`, { paused: true })
  const later = { after: 3_600_000 }
  const answers = await Promise.all(Array.from({ length: 24 }, () => add('report', null, later)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
  expect(codeOf(await api.send('POST', `/solutions/${NAME}/jobs/report/run`))).toEqual([503, 'ERR_JOBS_WAITING'])
  for (const { id } of await runs('?state=waiting')) await api.send('DELETE', `/solutions/${NAME}/runs/${id}`)
  await api.send('PUT', `/solutions/${NAME}/jobs`, { paused: false })
})

test('runs that a sign-in queues are added only if the login is accepted', async () => {
  const jobs = { report: { function: 'report' } }
  const files = {
    'globals.js': SCRIPT,
    'modules/doors/solution.json': JSON.stringify({ name: 'doors', version: '1.0.0', type: 'authenticator' }),
    'modules/doors/globals.js': AUTHENTICATOR,
  }
  const manifest = { name: 'doors-first', authenticator: 'AUTHENTICATOR', modules: ['doors'], jobs }
  const uploaded = await host.upload('doors-first', await bundleOf(manifest, files))
  expect(uploaded.status, await uploaded.text()).toBe(201)
  for (const username of ['mallory', 'dora']) {
    const visitor = await visit(host, 'doors-first')
    await visitor.post('/solution/doors-first/index.html', { username, password: 'any' })
  }
  await waitUntil(async () => {
    const all = (await api.items('/solutions/doors-first/runs')) as Run[]
    const details = await Promise.all(all.map(({ id }) => api.get(`/solutions/doors-first/runs/${id}`)))
    expect(details.map(({ result }) => (result as { data: { by: string } }).data.by)).toEqual(['dora'])
  })
})

test('solhost jobs lists, starts, pauses and resumes', async () => {
  using folder = temporaryFolder()
  const jobs = (...words: string[]) =>
    runCli(['jobs', ...words, '--user', 'admin'], { cwd: folder.path, env: { SOLHOST_PASSWORD: ADMIN_PASSWORD } })
  const started = await jobs('run', NAME, 'report', host.url, '--data', '{"to":"dirk"}', '--json')
  const { id } = JSON.parse(started.out) as { id: string }
  expect([started.code, (await ended(id)).state]).toEqual([0, 'succeeded'])
  const rest = `${NAME} ${host.url} --user admin --allow-http`
  const paused = await jobs('pause', NAME, host.url, '--allow-http')
  expect([paused.code, paused.out]).toEqual([0, `Paused the jobs in ${NAME}.\nNext: solhost jobs resume ${rest}\n`])
  const listed = await jobs('list', NAME, host.url, '--allow-http')
  expect(listed.out).toContain(`The jobs are paused. To resume them, run "solhost jobs resume ${rest}".\n`)
  expect(listed.err).toBe(`Next: solhost jobs runs ${rest}\n`)
  expect(listed.out).toMatch(/nightly: 30 2 \* \* \* \(Europe\/Brussels\), next 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\b/)
  expect((await jobs('resume', NAME, host.url)).code).toBe(0)
  const runs = (await jobs('runs', NAME, host.url, '--job', 'report')).out
  expect(runs).toMatch(new RegExp(`^20[-\\d]+ [:\\d]+ UTC  ${id}  report  succeeded  attempt 1$`, 'm'))
  const again = await jobs('run', NAME, 'report', host.url, '--data', '{"to":"dirk"}')
  expect(again.out).toMatch(
    new RegExp(`^Started run \\S+\\.\nNext: solhost jobs runs ${NAME} ${host.url} --user admin\n$`),
  )
  const unknown = await jobs('run', NAME, 'unknown', host.url)
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('has no job "')])
  expect((await jobs('again', NAME, id, host.url)).err).toContain('its data was erased')
})

test('deleting a solution cancels its runs', async () => {
  const id = (await add('report', null, { after: 3_600_000 })).json() as string
  expect((await runOf(id)).state).toBe('waiting')
  expect((await api.send('DELETE', `/solutions/${NAME}`)).status).toBe(204)
  expect(codeOf(await api.send('GET', `/solutions/${NAME}/runs/${id}`))).toEqual([404, 'ERR_SOLUTION_NOT_FOUND'])
})
