import { mkdtempSync, rmSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { openClient, openClientPage } from '../support/client-page.ts'
import { addClientSolution, button, label, outputOf } from '../support/client-solution.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ADMIN, sharedProperties } from '../support/host-group.ts'
import { startHostProcess } from '../support/host-process.ts'
import { ask } from '../support/http.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { addUser, visit } from '../support/users.ts'
import { bundleOf } from '../support/zip.ts'

const running: TestHost[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(running.splice(0).map((host) => host.stop()))
})

const COUNTER = {
  elements: [label('count'), button('up'), button('slow')],
  script: `let count = 0
    function up() { count += 1; forms.main.elements.count.label = String(count) }
    function slow() { const end = Date.now() + 700; while (Date.now() < end); application.output('slow'); up() }`,
  globals: "function onSolutionClose() { application.output('closed') }",
  manifest: { authenticator: 'DEFAULT' },
}

const statusOf = async (url: string) => (await ask(url)).status

test('draining: a host that got SIGTERM is unready, keeps serving and closes idle connections; a second signal stops it', async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-drain-'))
  const host = await startHostProcess(home, { DRAIN_TIME: '10m', SERVLET_PASSWORD: 'given', LOG_LEVEL: 'warn' })
  const { url, child } = host
  const authorization = `Basic ${Buffer.from('admin:given').toString('base64')}`
  const reached = { url, admin: authorization }
  await addUser(reached, 'anna')
  const bundle = await bundleOf({ name: 'crm', authenticator: 'DEFAULT' })
  const headers = { authorization, 'content-type': 'application/zip' }
  await ask(`${url}/admin/api/solutions/crm`, { method: 'PUT', headers, body: bundle })
  const anna = await visit(reached, 'crm')
  expect(await connectionOf(`${url}/health/ready`)).toEqual([200, 'keep-alive'])

  child.kill('SIGTERM')
  await expect.poll(() => statusOf(`${url}/health/ready`)).toBe(503)
  expect(await connectionOf(`${url}/health/live`)).toEqual([200, 'close'])
  expect((await anna.signIn('anna')).status).toBe(303)
  expect((await anna.session()).status).toBe(200)

  // A second signal stops the draining only after 500 ms. The host treats an earlier one as a duplicate: the launcher
  // forwards each signal, although the whole process group has already received it.
  const asked = () => {
    child.kill('SIGTERM')
    return statusOf(`${url}/health/live`).catch((error: NodeJS.ErrnoException) => error.code)
  }
  await expect.poll(asked, { interval: 100 }).toBe('ECONNREFUSED')
  await host.gone
  expect(child.exitCode).toBe(0)
  rmSync(home, { recursive: true, force: true })
})

test('draining: a client’s running call finishes before its connection is closed with 1001', async () => {
  const host = await started({ DRAIN_TIME: '200ms' })
  await addUser(host, 'anna')
  await addClientSolution(host, 'counter', COUNTER)
  const anna = await visit(host, 'counter')
  await anna.signIn('anna')
  const page = await openClient(host.url, 'counter', anna)
  page.fire('main', 'slow', 'onAction')
  await expect.poll(() => outputOf(host, 'counter')).toEqual(['slow'])
  await host.stop()
  expect(await page.closed()).toBe(1001)
  expect(page.text('main', 'count')).toBe('1')
})

describe.skipIf(postgresPath === undefined)('two hosts with one database', () => {
  let server: TestServer
  let hosts: TestHost[]

  beforeAll(async () => {
    server = await sharedPostgres()
    const properties = sharedProperties('alpha', server)
    hosts = [await startTestHost({ ...properties, DRAIN_TIME: '9s' }), await startTestHost(properties)]
  }, SERVER_START)
  afterAll(async () => {
    await Promise.all((hosts ?? []).map((host) => host.stop()))
    await server?.stop()
  })

  test('draining: clients move to the other host with their session before their host stops accepting requests', async () => {
    const [one, other] = hosts.map((host) => ({ ...host, admin: ADMIN }))
    if (one === undefined || other === undefined) throw new TypeError('there are two hosts')
    await addUser(one, 'anna')
    await addClientSolution({ ...one, upload: uploadTo(one) }, 'counter', COUNTER)
    const anna = await visit(one, 'counter')
    await anna.signIn('anna')
    const pages = await Promise.all(Array.from({ length: 5 }, () => openClient(one.url, 'counter', anna)))
    await pages[0]?.press('main', 'up')
    expect(pages[0]?.text('main', 'count')).toBe('1')
    // The host disconnects each client at a random time in the second half of the drain time. The test moves this to
    // the start of the second half, so that the later requests still arrive in time.
    const { random } = Math
    vi.spyOn(Math, 'random').mockImplementation(() => random() / 100)
    const stopped = one.stop()
    expect(await statusOf(`${one.url}/health/ready`)).toBe(503)

    // The draining host still serves requests, for new clients and for existing sessions.
    const late = await openClient(one.url, 'counter', anna)
    const moved = await Promise.all(
      pages.map(async (page) => {
        const code = await page.closed()
        const isServed = (await statusOf(`${one.url}/health/live`)) === 200
        const { client } = await page.frame('hello')
        const next = await openClientPage(other.url, 'counter', anna, { client, page: page.page, seq: page.seq() })
        next.hello()
        await next.until('form', () => next.frames.some(({ kind }) => kind === 'idle'))
        return { code, isServed, isNew: (await next.frame('hello')).isNew, next }
      }),
    )
    expect(moved.map(({ next, ...told }) => told)).toEqual(Array(5).fill({ code: 1001, isServed: true, isNew: true }))
    expect(await late.closed()).toBe(1001)
    await stopped

    const [first] = moved
    await first?.next.press('main', 'up')
    expect(first?.next.text('main', 'count')).toBe('1')
    const headers = { cookie: `session-counter=${anna.cookie('session')}` }
    expect((await ask(`${other.url}/solution/counter/session`, { headers })).status).toBe(200)
    expect(await outputOf(other, 'counter')).toEqual(Array(6).fill('closed'))
    for (const { next } of moved) next.close()
  })
})

async function started(properties: Record<string, string>): Promise<TestHost> {
  const host = await startTestHost(properties)
  running.push(host)
  return host
}

function uploadTo({ url }: TestHost): TestHost['upload'] {
  return (name, bundle) =>
    fetch(`${url}/admin/api/solutions/${name}`, {
      method: 'PUT',
      headers: { authorization: ADMIN, 'content-type': 'application/zip' },
      body: new Uint8Array(bundle),
    })
}

/** Sends a request with keep-alive. @returns the response's status and `Connection` header */
function connectionOf(url: string): Promise<[number | undefined, string | undefined]> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { headers: { connection: 'keep-alive' }, agent: false }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve([answer.statusCode, answer.headers.connection]))
    })
    request.on('error', reject).end()
  })
}
