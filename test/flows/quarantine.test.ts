import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

let host: TestHost
beforeAll(async () => {
  host = await startTestHost({ AUTHENTICATOR_TIME: '200ms', CALL_TIME: '200ms', LOAD_TIME: '300ms' })
})
afterAll(() => host.stop())

/** A native loop: no timeout inside the process ends it. */
const HANGS = 'Array.prototype.indexOf.call(new Proxy({ length: 9007199254740991 }, {}), 1)'

test('a solution that was killed three times pauses: 503 with Retry-After, in its log and in the API; others go on', async () => {
  const bad = await bundleOf(
    { name: 'bad', authenticator: 'AUTHENTICATOR', modules: ['auth'] },
    {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': `function onSolutionOpen() { ${HANGS} }`,
    },
  )
  await host.upload('bad', bad)
  await host.upload(
    'good',
    await bundleOf({ name: 'good', authenticator: 'NONE' }, { 'globals.js': 'function onSolutionOpen() {}' }),
  )
  const page = '/solution/bad/index.html'
  const visitor = createVisitor(host.url)
  await visitor.get(page)
  const statuses: number[] = []
  for (let login = 0; login < 4; login++)
    statuses.push((await visitor.post(page, { username: 'a', password: 'b' })).status)
  expect(statuses).toEqual([401, 401, 401, 503])
  const paused = await visitor.post(page, { username: 'a', password: 'b' })
  expect(Number(paused.headers['retry-after'])).toBeGreaterThan(0)
  expect(paused.text).toContain('please try again in')
  expect((await ask(`${host.url}/solution/good/index.html`)).status).toBe(200)

  const headers = { authorization: host.admin }
  const api = async (path: string) => (await ask(`${host.url}/admin/api/solutions/${path}`, { headers })).json()
  expect(await api('bad')).toMatchObject({ state: 'quarantined', retryAt: expect.any(Number) })
  expect(await api('good')).toMatchObject({ state: 'active' })
  const { items } = (await api('bad/log')) as { items: { message: string }[] }
  expect(items.some(({ message }) => message.includes('its scripts pause for 5 s'))).toBe(true)
  expect((await ask(`${host.adminUrl}/admin/`, { headers: { accept: 'text/html' } })).text).toContain('Quarantined')
})

test('a paused solution without sign-in is a 503 page that says when to come back', async () => {
  await host.upload(
    'loops',
    await bundleOf(
      { name: 'loops', authenticator: 'NONE' },
      { 'globals.js': `function onSolutionOpen() { ${HANGS} }` },
    ),
  )
  for (let visit = 0; visit < 3; visit++) await ask(`${host.url}/solution/loops/index.html`)
  const paused = await ask(`${host.url}/solution/loops/index.html`, { headers: { accept: 'text/html' } })
  expect([paused.status, Number(paused.headers['retry-after']) > 0]).toEqual([503, true])
  expect(paused.text).toContain('This solution is not working')
})

test('a process that grows beyond its limit is ended as script_memory with limit and amount', async () => {
  const own = await startTestHost({ PROCESS_MEMORY: '150m', ISOLATE_MEMORY: '2g', CALL_TIME: '20s' })
  const script =
    'function onSolutionOpen() { const k = []; for (;;) { k.push(new Uint8Array(1 << 20).fill(1)); const end = Date.now() + 2; while (Date.now() < end); } }'
  await own.upload('grows', await bundleOf({ name: 'grows', authenticator: 'NONE' }, { 'globals.js': script }))
  expect((await ask(`${own.url}/solution/grows/index.html`)).status).toBe(200)
  const headers = { authorization: own.admin }
  const log = (await ask(`${own.url}/admin/api/solutions/grows/log`, { headers })).json() as {
    items: { code: string; message: string }[]
  }
  expect(log.items.at(-1)?.code).toBe('script_memory')
  expect(log.items.at(-1)?.message).toMatch(/150 MB are allowed \(limit PROCESS_MEMORY: 157286400, used \d{9}\)$/)
  await own.stop()
})
