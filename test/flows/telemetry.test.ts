import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { openClient } from '../support/client-page.ts'
import { addClientSolution, button } from '../support/client-solution.ts'
import { type Collector, exportTimes, pointsOf, recordsOf, spansOf, startCollector } from '../support/collector.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

const PAGE = '/solution/tenant-login/index.html'
const ANNA = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }
const OFTEN = { interval: 20 }

let collector: Collector
let host: TestHost

/** @param hasExample whether to upload the example. Tests without a sign-in don't need it and save the time */
async function startHost(properties: Record<string, string> = {}, hasExample = true): Promise<void> {
  host = await startTestHost({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRIC_EXPORT_INTERVAL: '100',
    OTEL_TRACES_SAMPLER_ARG: '1',
    ...properties,
  })
  if (hasExample) await host.upload('tenant-login', await packFolder(exampleFolder('tenant-login')))
}

async function signIn(fields: Record<string, string> = ANNA, headers: Record<string, string> = {}): Promise<number> {
  const visitor = createVisitor(host.url, headers)
  await visitor.get(PAGE)
  return (await visitor.post(PAGE, fields)).status
}

const logins = () => {
  const last = pointsOf(collector, 'solhost_logins_total')
  const time = last.at(-1)?.time
  return last.filter((point) => point.time === time).map(({ attributes, value }) => ({ ...attributes, value }))
}

describe('a host with a collector', () => {
  beforeAll(async () => {
    collector = await startCollector()
    await startHost({ METRICS_PORT: '0' })
    expect(await signIn()).toBe(303)
    expect(await signIn({ ...ANNA, password: 'wrong-secret' })).toBe(401)
  })
  afterAll(async () => {
    await host.stop()
    await collector.stop()
  })

  test('sign-ins are counted by solution, mode and result', async () => {
    await waitUntil(() => expect(logins()).toHaveLength(2), OFTEN)
    const labels = { solution: 'tenant-login', mode: 'authenticator' }
    expect(logins()).toEqual([
      { ...labels, result: 'ok', value: 1 },
      { ...labels, result: 'refused', value: 1 },
    ])
  })

  test('the trace of a sign-in covers the request, the sandbox and the session', async () => {
    await waitUntil(() => expect(spansOf(collector).map(({ name }) => name)).toContain('start session'), OFTEN)
    const spans = spansOf(collector)
    const session = spans.find(({ name }) => name === 'start session')
    const ours = spans.filter(({ traceId }) => traceId === session?.traceId)
    const named = (name: string) => ours.find((span) => span.name === name)
    const root = named('POST /solution/:solution/index.html')
    const login = named('login')
    expect(root).toMatchObject({
      parent: '',
      attributes: { 'http.response.status_code': '303', 'solhost.port': 'pages' },
    })
    expect(login).toMatchObject({
      parent: root?.spanId,
      attributes: { 'solhost.solution': 'tenant-login', 'solhost.mode': 'authenticator', 'solhost.result': 'ok' },
    })
    expect(named('sandbox call')).toMatchObject({
      parent: login?.spanId,
      attributes: {
        'solhost.entry': 'onSolutionOpen',
        'solhost.outcome': 'returned',
        'solhost.queue_ms': expect.any(String),
      },
    })
    expect(session?.parent).toBe(login?.spanId)
    expect(
      ours.find(({ name, parent }) => name === 'database query' && parent === session?.spanId)?.attributes,
    ).toEqual({
      'db.operation.name': 'insert',
    })
  })

  test('no telemetry contains a username, an address, a password or other input', async () => {
    await waitUntil(() => expect(spansOf(collector).length).toBeGreaterThan(5), OFTEN)
    const everything = JSON.stringify(collector.received.map(({ body }) => body))
    expect(everything).toContain('tenant-login')
    for (const secret of ['anna', 'acme', 'wrong-secret', '127.0.0.1', host.admin])
      expect(everything).not.toContain(secret)
  })

  test('metrics can be read without a token on their own port, but not by browser pages', async () => {
    const url = host.metricsUrl ?? ''
    const { status, headers, text } = await ask(url)
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    expect(text).toMatch(
      /^# HELP solhost_logins_total Sign-in attempts by result\n# TYPE solhost_logins_total counter\nsolhost_logins_total\{solution="tenant-login",mode="authenticator",result="ok"\} 1$/m,
    )
    expect(text).toMatch(/^solhost_login_duration_seconds_bucket\{mode="authenticator",result="ok",le="\+Inf"\} 1$/m)
    const script =
      'solhost_script_duration_seconds_count{solution="tenant-login",entry="onSolutionOpen",outcome="returned"}'
    expect(text).toContain(`\n${script} 2\n`)
    expect(text).toMatch(/^solhost_memory_limit_bytes \d+$/m)
    expect((await ask(url, { headers: { Origin: 'http://evil.example' } })).status).toBe(403)
    // DNS rebinding: over http, only the Host header distinguishes a page's request from a tool's request.
    const port = new URL(url).port
    for (const name of ['evil.example', 'rebound.evil.example', 'localhost.evil.example'])
      expect((await ask(url, { headers: { Host: `${name}:${port}` } })).status).toBe(421)
    for (const name of [
      'localhost',
      '10.0.0.7',
      '[::1]',
      'node-one',
      'solhost.internal',
      'm.solhost.svc.cluster.local',
    ])
      expect((await ask(url, { headers: { Host: `${name}:${port}` } })).status).toBe(200)
    expect((await ask(url, { method: 'POST' })).status).toBe(405)
    expect((await ask(url.replace('/metrics', '/admin'))).status).toBe(404)
  })

  test('on the admin port, metrics require a token with health:read', async () => {
    const url = `${host.adminUrl}/metrics`
    expect((await ask(url)).status).toBe(401)
    expect((await ask(`${host.url}/metrics`, { headers: { authorization: host.admin } })).status).toBe(404)
    const tokenWith = async (scope: string) => {
      const made = await fetch(`${host.url}/admin/api/tokens`, {
        method: 'POST',
        headers: { authorization: host.admin, 'content-type': 'application/json' },
        body: JSON.stringify({ name: scope, scopes: [scope] }),
      })
      return ((await made.json()) as { token: string }).token
    }
    const askWith = async (scope: string) =>
      ask(url, { headers: { authorization: `Bearer ${await tokenWith(scope)}` } })
    expect((await askWith('users:read')).status).toBe(403)
    const { status, headers, text } = await askWith('health:read')
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    expect(text).toContain('solhost_sandbox_processes{kind="logins"} 1')
  })

  test('a browser cannot choose the trace of its requests', async () => {
    const traceId = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
    const before = spansOf(collector).length
    await ask(`${host.url}${PAGE}`, { headers: { traceparent: `00-${traceId}-bbbbbbbbbbbbbbbb-01` } })
    await waitUntil(() => expect(spansOf(collector).length).toBeGreaterThan(before), OFTEN)
    expect(spansOf(collector).map((span) => span.traceId)).not.toContain(traceId)
  })
})

describe('a host whose collector can fail', () => {
  beforeEach(async () => {
    collector = await startCollector()
  })
  afterEach(async () => {
    await host.stop()
    await collector.stop()
  })

  test('a trusted proxy can choose the trace', async () => {
    await startHost({ TRUSTED_PROXIES: '127.0.0.1', OTEL_TRACES_SAMPLER_ARG: '0' }, false)
    const traceId = 'cccccccccccccccccccccccccccccccc'
    await ask(`${host.url}${PAGE}`, { headers: { traceparent: `00-${traceId}-bbbbbbbbbbbbbbbb-01` } })
    await ask(`${host.url}${PAGE}`)
    await waitUntil(() => expect(spansOf(collector).length).toBeGreaterThan(0), OFTEN)
    expect(new Set(spansOf(collector).map((span) => span.traceId))).toEqual(new Set([traceId]))
    expect(spansOf(collector).find(({ name }) => name.startsWith('GET'))?.parent).toBe('bbbbbbbbbbbbbbbb')
  })

  test('while the collector is down, exports are queued; afterwards all of them arrive in order, including those of an earlier process', async () => {
    await startHost()
    await signIn()
    await waitUntil(() => expect(logins()).toHaveLength(1), OFTEN)
    await collector.away()
    await signIn()
    const folder = join(host.home, 'telemetry', 'metrics')
    await waitUntil(() => expect(readdirSync(folder).length).toBeGreaterThan(5), OFTEN)
    expect(readdirSync(folder).filter((file) => statSync(join(folder, file)).mode & 0o077)).toEqual([])
    await collector.back()
    await waitUntil(() => expect(logins()[0]?.value).toBe(2), OFTEN)
    const times = exportTimes(collector, 'solhost_memory_limit_bytes')
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    expect(Math.max(...gaps)).toBeLessThan(1000)
    expect(host.logged().match(/temporarily rejects data/g)?.length).toBeLessThanOrEqual(3)
    await waitUntil(() => expect(host.logged()).toContain('accepts telemetry again'), OFTEN)
  })

  test('if the token is wrong, the error is logged once, without the token, and sign-ins keep working', async () => {
    collector.reply = () => ({ status: 401 })
    const token = 'a-wrong-environment-token'
    await startHost({
      ENVIRONMENT: 'onprem',
      CLOUD_URL: collector.url,
      REMOTE_ENVIRONMENT_TOKEN: token,
      OTEL_EXPORTER_OTLP_ENDPOINT: '',
    })
    expect(await signIn()).toBe(303)
    const folder = join(host.home, 'telemetry', 'metrics')
    await waitUntil(() => expect(readdirSync(folder).length).toBeGreaterThan(8), OFTEN)
    const metrics = collector.tries.filter(({ path }) => path === '/otlp/v1/metrics')
    expect(metrics).toEqual([{ path: '/otlp/v1/metrics', status: 401 }])
    const said = host
      .logged()
      .split('\n')
      .filter((line) => line.includes('REMOTE_ENVIRONMENT_TOKEN') && line.includes('"metrics"'))
    expect(said).toHaveLength(1)
    expect(host.logged()).not.toContain(token)
  })

  test('the token is sent to CLOUD_URL as a bearer token, and not to other collectors', async () => {
    const other = await startCollector()
    const properties = {
      ENVIRONMENT: 'onprem',
      CLOUD_URL: collector.url,
      REMOTE_ENVIRONMENT_TOKEN: 'the-environment-token',
      OTEL_EXPORTER_OTLP_ENDPOINT: '',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${other.url}/here`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=the%20key',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    }
    await startHost(properties, false)
    // Creates a trace to export.
    await ask(`${host.url}/`)
    // The collector also gets requests for the desired state, since it is this host's control center.
    const metrics = () => collector.received.filter(({ path }) => path === '/otlp/v1/metrics')
    await waitUntil(() => expect(Math.min(other.received.length, metrics().length)).toBeGreaterThan(0), OFTEN)
    await other.stop()
    expect(metrics()[0]).toMatchObject({
      headers: { authorization: 'Bearer the-environment-token', 'content-type': 'application/x-protobuf' },
    })
    expect(collector.received.map(({ headers }) => headers['x-key'])).not.toContain('the key')
    expect(other.received[0]).toMatchObject({ path: '/here', headers: { 'x-key': 'the key' } })
    expect(other.received.map(({ headers }) => headers.authorization)).toEqual(other.received.map(() => undefined))
  })

  test('a collector that does not respond does not delay a sign-in or the shutdown', async () => {
    collector.reply = () => 'hang'
    // Longer than the test's timeout, so a host that waits for the response fails the test.
    await startHost({ OTEL_EXPORTER_OTLP_TIMEOUT: '60000' })
    expect(await signIn()).toBe(303)
    await waitUntil(() => expect(collector.tries.length).toBeGreaterThan(0), OFTEN)
    expect(await signIn()).toBe(303)
    expect(collector.received).toEqual([])
    await host.stop()
  })

  test.each([
    ['true', ['the script says hello']],
    ['false', []],
  ])('with TELEMETRY_SOLUTION_LOGS=%s, the collector receives the log lines %j from scripts', async (value, wanted) => {
    await startHost({ TELEMETRY_SOLUTION_LOGS: value }, false)
    await host.upload('talking', await talkingSolution())
    const visitor = createVisitor(host.url)
    await visitor.get('/solution/talking/index.html')
    await visitor.post('/solution/talking/index.html', ANNA)
    await waitUntil(() => expect(spansOf(collector).map(({ name }) => name)).toContain('login'), OFTEN)
    await host.stop()
    const lines = recordsOf(collector).filter(({ scope }) => scope === 'solhost.solution')
    expect(lines.map(({ body }) => body)).toEqual(wanted)
    const login = spansOf(collector).find(({ name }) => name === 'login')
    for (const { attributes, traceId } of lines) {
      expect([attributes['solhost.solution'], traceId]).toEqual(['talking', login?.traceId])
      expect(attributes['solhost.correlation_id']).toMatch(/^[0-9A-Z]{5}-[0-9A-Z]{5}$/)
    }
  })
})

test('an event in an open client is a separate trace, with its scripts’ log lines and requests', async () => {
  collector = await startCollector()
  await startHost({}, false)
  const script = `
    function go() {
      console.log('the form says hello')
      plugins.http.fetch('https://nowhere.example.org/').catch(() => {})
    }`
  await addClientSolution(host, 'open', { elements: [button('go')], script })
  const page = await openClient(host.url, 'open', { cookies: new Map() })
  await page.press('main', 'go')
  const events = () => spansOf(collector).filter(({ name }) => name === 'client event')
  const pressed = () => events().find(({ attributes }) => attributes['solhost.entry'] === 'forms.event')
  await waitUntil(() => expect(pressed()).toBeDefined(), OFTEN)
  expect(pressed()).toMatchObject({
    parent: '',
    attributes: {
      'solhost.solution': 'open',
      'solhost.outcome': 'returned',
      'solhost.run_ms': expect.any(String),
    },
  })
  const line = () => recordsOf(collector).find(({ body }) => body === 'the form says hello')
  await waitUntil(() => expect(line()).toBeDefined(), OFTEN)
  expect(line()?.traceId).toBe(pressed()?.traceId)
  const asked = { name: 'plugin request', traceId: pressed()?.traceId, attributes: { 'solhost.binding': 'http.fetch' } }
  // Select spans by name, because the log line about a slow event adds another span.
  const below = () => spansOf(collector).filter((span) => span.parent === pressed()?.spanId && span.name === asked.name)
  await waitUntil(() => expect(below()).toMatchObject([asked]), OFTEN)
  expect(new Set(events().map(({ traceId }) => traceId)).size).toBe(events().length)
  page.close()
  await host.stop()
  await collector.stop()
})

function talkingSolution(): Promise<Buffer> {
  const manifest = { name: 'talking', authenticator: 'AUTHENTICATOR', modules: ['auth'] }
  return bundleOf(manifest, {
    ...moduleFile('auth', { type: 'authenticator' }),
    'modules/auth/globals.js': "function onSolutionOpen() { console.log('the script says hello') }",
  })
}
