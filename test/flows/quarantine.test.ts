import { afterAll, beforeAll, expect, test } from 'vitest'
import { signInToAdmin } from '../support/admin.ts'
import { openOnce } from '../support/client-page.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { addAuthenticatorSolution, askAdmin, visit } from '../support/users.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

let host: TestHost
/** A host with so little memory per process that scripts exceed it before their time limit. */
let small: TestHost
beforeAll(async () => {
  host = await startTestHost({ AUTHENTICATOR_TIME: '200ms', CALL_TIME: '200ms' })
  const time = { CALL_TIME: '20s', AUTHENTICATOR_TIME: '20s' }
  small = await startTestHost({ PROCESS_MEMORY: '150m', ISOLATE_MEMORY: '2g', ...time })
})
afterAll(() => Promise.all([host.stop(), small.stop()]))

/** A loop in native code, which no timeout inside the process can stop. */
const HANGS = 'Array.prototype.indexOf.call(new Proxy({ length: 9007199254740991 }, {}), 1)'

test('a solution whose process was killed three times is paused: its sign-ins get 503 with Retry-After, other solutions keep working', async () => {
  const bad = await bundleOf(
    { name: 'bad', authenticator: 'AUTHENTICATOR', modules: ['auth'] },
    {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': 'function onSolutionOpen() { for (;;); }',
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
  expect(paused.text).toContain('Please try again in')
  expect((await ask(`${host.url}/solution/good/index.html`)).status).toBe(200)

  const headers = { authorization: host.admin }
  const api = async (path: string) => (await ask(`${host.url}/admin/api/solutions/${path}`, { headers })).json()
  expect(await api('bad')).toMatchObject({ state: 'quarantined', retryAt: expect.any(Number) })
  expect(await api('good')).toMatchObject({ state: 'active' })
  const { items } = (await api('bad/log')) as { items: { message: string }[] }
  expect(items.some(({ message }) => message.includes('its scripts are paused for 5 s'))).toBe(true)
  expect((await (await signInToAdmin(host)).get('/admin/')).text).toContain('>Paused<')
})

test('a client of a paused solution says that it is not working, and the solution log says until when', async () => {
  await host.upload(
    'loops',
    await bundleOf(
      { name: 'loops', authenticator: 'NONE' },
      { 'globals.js': `function onSolutionOpen() { ${HANGS} }` },
    ),
  )
  const texts: string[] = []
  for (let visit = 0; visit < 4; visit++) {
    const page = await openOnce(host.url, 'loops', createVisitor(host.url))
    texts.push((await page.frame('message')).text)
    expect([await page.closed(), (await page.frame('closed')).why]).toEqual([4500, 'failed'])
  }
  expect(texts.map((text) => text.split('.')[0])).toEqual(Array(4).fill('This page could not be opened'))
  const headers = { authorization: host.admin }
  const { items } = (await ask(`${host.url}/admin/api/solutions/loops/log`, { headers })).json() as {
    items: { code?: string; message: string }[]
  }
  expect(items.filter(({ code }) => code === 'script_timeout')).toHaveLength(3)
  expect(items.at(-1)).toMatchObject({
    code: 'sandbox_busy',
    message: expect.stringContaining('new clients of this solution are blocked'),
  })
  expect((await ask(`${host.url}/admin/api/solutions/loops`, { headers })).json()).toMatchObject({
    state: 'quarantined',
    retryAt: expect.any(Number),
  })
})

test('a client process that exceeds its memory limit is reported as script_memory with the limit and the amount used', async () => {
  const script =
    'function onSolutionOpen() { const k = []; for (;;) { k.push(new Uint8Array(1 << 20).fill(1)); const end = Date.now() + 2; while (Date.now() < end); } }'
  await small.upload('grows', await bundleOf({ name: 'grows', authenticator: 'NONE' }, { 'globals.js': script }))
  const page = await openOnce(small.url, 'grows', createVisitor(small.url))
  expect((await page.frame('closed')).why).toBe('failed')
  const headers = { authorization: small.admin }
  const log = (await ask(`${small.url}/admin/api/solutions/grows/log`, { headers })).json() as {
    items: { code: string; message: string }[]
  }
  expect(log.items.at(-1)?.code).toBe('script_memory')
  expect(log.items.at(-1)?.message).toMatch(
    /PROCESS_MEMORY allows at most 150 MB \(limit PROCESS_MEMORY: 157286400; used: \d{9}; in onSolutionOpen\)$/,
  )
})

test('a login process that exceeds its memory limit is reported as script_memory, and the sign-in fails', async () => {
  const grows =
    'function onSolutionOpen(arg, q) { const k = []; for (;;) { k.push(new Uint8Array(1 << 20).fill(1)); const end = Date.now() + 2; while (Date.now() < end); } }'
  await addAuthenticatorSolution(small, 'grows-at-login', grows)
  const { signIn } = await visit(small, 'grows-at-login')
  expect((await signIn('anna')).status).toBe(401)
  const { items } = (await askAdmin(small, 'GET', 'solutions/grows-at-login/log')) as { items: { code: string }[] }
  expect(items.at(-1)).toMatchObject({ code: 'script_memory', message: expect.stringContaining('PROCESS_MEMORY') })
})
