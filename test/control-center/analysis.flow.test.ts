import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFollowers } from '../../base/http/followers.ts'
import { OWNER, signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { attributesOf, type Collector, startCollector } from '../support/collector.ts'
import { startTestHost } from '../support/host.ts'
import { SimulatedHost, sendOtlp } from '../support/otlp.ts'

let center: TestCenter
let east: { id: string; token: string }
const host = new SimulatedHost()
const trace = 'd'.repeat(32)
/** The API token of another organisation's owner. */
let foreign = ''

beforeAll(async () => {
  center = await startTestCenter()
  east = await center.environment('east')
  await center.environment('west')
  await center.parts.organisations.create({ name: 'other', title: 'Other' }, await center.account('else@example.org'))
  foreign = await center.tokenOf('owner', 'other')
  host.add('solhost_logins_total', { solution: 'shop', mode: 'default', result: 'ok' }, 4)
  host.record('solhost_script_duration_seconds', 0.7, { solution: 'shop', entry: 'forms', outcome: 'returned' })
  host.set('solhost_memory_bytes', { part: 'host' }, 2 ** 27)
  await sendOtlp(center.url, east.token, 'metrics', host.metrics())
  const labels = { 'solhost.solution': 'shop', 'code.file.path': 'scripts/a.js', 'code.line.number': 3 }
  const line = { message: 'secret of east <b>', severity: 17, labels, trace }
  await sendOtlp(center.url, east.token, 'logs', host.logs([line]))
  const span = { trace, span: '1'.repeat(16), name: 'POST /shop', start: Date.now() - 1000, duration: 900 }
  await sendOtlp(center.url, east.token, 'traces', host.spans([span]))
})

afterAll(() => center?.stop())

describe('analysis', () => {
  test('the API returns metrics, errors with the environment’s name, and traces', async () => {
    const { body } = await center.api('GET', 'organisations/acme/analysis?range=15m')
    expect(body.entries).toMatchObject([{ entry: 'forms', count: 1, isSlow: true }])
    expect(body.errors).toMatchObject([{ environment: 'east', file: 'scripts/a.js', line: 3, count: 1 }])
    const { body: traces } = await center.api('GET', 'organisations/acme/traces?only=slow')
    expect(traces.items).toMatchObject([{ trace, environment: 'east', name: 'POST /shop' }])
    expect((await center.api('GET', `organisations/acme/traces/${trace}`)).body.spans).toHaveLength(1)
  })

  test('every member of the organisation, even a viewer, can read the data', async () => {
    const viewer = await center.tokenOf('viewer')
    for (const path of ['analysis', 'logs', 'traces', `traces/${trace}`]) {
      expect((await center.api('GET', `organisations/acme/${path}`, undefined, viewer)).status).toBe(200)
    }
  })

  test('another organisation sees none of the data, whatever it requests', async () => {
    const [line] = (await center.api('GET', 'organisations/acme/logs')).body.items
    const paths = ['analysis', 'analysis/page', 'logs', 'traces', `traces/${trace}`, `logs/${line.id}`]
    for (const path of paths) {
      expect((await center.api('GET', `organisations/acme/${path}`, undefined, foreign)).status).toBe(404)
    }
    for (const path of [`traces/${trace}`, `logs/${line.id}`, 'logs?environment=east', 'analysis?environment=east']) {
      expect((await center.api('GET', `organisations/other/${path}`, undefined, foreign)).status).toBe(404)
    }
    for (const path of ['analysis', 'logs?words=secret', 'logs', 'traces']) {
      const { status, text } = await center.api('GET', `organisations/other/${path}`, undefined, foreign)
      expect(status).toBe(200)
      expect(text).not.toMatch(/secret|shop|forms/)
    }
  })

  test('an environment token cannot read any of the data', async () => {
    for (const path of ['analysis', 'logs', 'traces']) {
      expect((await center.api('GET', `organisations/acme/${path}`, undefined, east.token)).status).toBe(401)
    }
  })

  test.each(['range=1y', 'environment=%00', 'limit=0', 'limit=5000', 'from=x', 'words=a&words=b', 'unknown=1'])(
    'an invalid query is rejected: %s',
    async (query) => {
      expect((await center.api('GET', `organisations/acme/logs?${query}`)).status).toBe(422)
    },
  )

  test('a search with more than 20 words is rejected; the page says so and keeps the words', async () => {
    const words = (count: number) => encodeURIComponent(['secret', 'of', ...Array(count - 2).fill('east')].join(' '))
    expect((await center.api('GET', `organisations/acme/logs?words=${words(20)}`)).body.items).toHaveLength(1)
    const { status, body } = await center.api('GET', `organisations/acme/logs?words=${words(21)}`)
    expect([status, body.code]).toEqual([422, 'ERR_REQUEST_INVALID'])
    expect(body.detail).toContain('must have at most 20 words')
    const browser = await signInToCenter(center, OWNER)
    expect((await browser.get(`/o/acme/logs?words=${words(20)}`)).text).toContain('secret of east &lt;b&gt;')
    const page = await browser.get(`/o/acme/logs?words=${words(21)}&level=error`)
    expect(page.status).toBe(200)
    expect(page.text).toMatch(/role="alert">A search can have at most 20 words/)
    expect(page.text).toMatch(/<input[^>]* value="secret of east[^>]*aria-invalid="true"/)
    expect(page.text).toMatch(/<option value="error" selected/)
    expect(page.text).not.toContain('secret of east &lt;b&gt;')
  })

  test('the pages show the data, escaped', async () => {
    const browser = await signInToCenter(center, OWNER)
    const pages = ['analysis', 'logs', 'logs?words=secret&level=error&environment=east&solution=shop&range=1h']
    for (const path of [...pages, 'analysis/traces?only=slow', `analysis/traces/${trace}`]) {
      const page = await browser.get(`/o/acme/${path}`)
      expect([path, page.status]).toEqual([path, 200])
      expect(page.text).not.toMatch(/!center\.|<b>|undefined| style="/)
      expect(page.text).toMatch(/secret of east &lt;b&gt;|POST \/shop/)
    }
    expect((await browser.get('/o/other/logs')).status).toBe(404)
    const start = (await browser.get('/o/acme')).text
    expect(start).toContain('Last hour: 1. Last 24 hours: 1.')
    expect(start).toContain('<code>scripts/a.js:3</code>')
    expect(start).toContain('secret of east &lt;b&gt;')
    // The charts are part of the page's HTML, so they are shown without a script.
    expect((await browser.get('/o/acme/analysis')).text).toMatch(/<path class="line line-0" d="M[\d. L]+"/)
  })

  test('a reader who follows the log receives new lines that match the filter', async () => {
    const end = new AbortController()
    const answer = await fetch(`${center.url}/api/organisations/acme/logs?words=wanted&environment=east`, {
      headers: { authorization: `Bearer ${await center.tokenOf('viewer')}`, accept: 'text/event-stream' },
      signal: end.signal,
    })
    let text = ''
    const reading = (async () => {
      for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString()
    })().catch(() => {})
    await expect.poll(() => text).toContain(': new log lines follow')
    await sendOtlp(center.url, east.token, 'logs', host.logs([{ message: 'unasked' }, { message: 'wanted 1' }]))
    await sendOtlp(center.url, east.token, 'logs', host.logs([{ message: 'wanted 2' }]))
    await expect.poll(() => text).toContain('wanted 2')
    end.abort()
    await reading
    const events = text.split('\n\n').filter((event) => event.startsWith('data: '))
    expect(events.map((event) => JSON.parse(event.slice(6)).message)).toEqual(['wanted 1', 'wanted 2'])
  })

  const follow = async (token: string, query = '', url = center.url, signal?: AbortSignal) =>
    fetch(`${url}/api/organisations/acme/logs${query}`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
      signal: signal ?? null,
    })

  test('a person can follow up to ten logs at a time; other people are not affected', async () => {
    const [viewer, other] = [await center.tokenOf('viewer'), await center.tokenOf('viewer')]
    const end = new AbortController()
    // Keep the responses, because `fetch` closes the connection of a response that is garbage-collected.
    const followed: Response[] = []
    for (let one = 0; one < 10; one++) followed.push(await follow(viewer, '', center.url, end.signal))
    expect(followed.map(({ status }) => status)).toEqual(Array(10).fill(200))
    const refused = await follow(viewer)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '30'])
    expect(await refused.json()).toMatchObject({
      code: 'ERR_THROTTLED',
      detail: expect.stringMatching(/^You are already following 10 logs.* Close/),
    })
    const others = new AbortController()
    expect((await follow(other, '', center.url, others.signal)).status).toBe(200)
    expect(followed).toHaveLength(10)
    others.abort()
    end.abort()
    await expect.poll(async () => (await follow(viewer, '', center.url, AbortSignal.timeout(500))).status).toBe(200)
  })

  test('an environment’s log can be followed by 50 clients in total; other environments are not affected', async () => {
    const followers = createFollowers()
    const enter = (who: string, ...logs: string[]) =>
      followers.enter({ who, logs, nameOf: (id) => `name of ${id}`, end: () => {} })
    const leave = Array.from({ length: 50 }, (_, number) => enter(`user:${number % 25}`, 'east', `own-${number}`))
    expect(() => enter('user:new', 'west', 'east')).toThrow(
      /^50 clients are already following the log of "name of east"/,
    )
    enter('user:new', 'west')
    leave[0]?.()
    leave[0]?.()
    enter('user:new', 'east')
    expect(() => enter('user:new', 'east')).toThrow(/^50 clients/)
  })

  test('stopping the control center ends followed logs with a complete response', async () => {
    const stopped = await startTestCenter()
    const answer = await follow(await stopped.tokenOf('viewer'), '', stopped.url)
    // With a keep-alive connection, the server could not stop before the connection's timeout.
    expect(answer.headers.get('connection')).toBe('close')
    const [text] = await Promise.all([answer.text(), stopped.stop()])
    expect(text).toBe(': new log lines follow\n\n')
  })
})

describe('a real host', () => {
  test('the metrics, log lines and traces of a host arrive', async () => {
    const { token } = await center.environment('real')
    const satellite = await startTestHost({
      ENVIRONMENT: 'onprem',
      CLOUD_URL: center.url,
      REMOTE_ENVIRONMENT_TOKEN: token,
      OTEL_METRIC_EXPORT_INTERVAL: '200',
      OTEL_TRACES_SAMPLER_ARG: '1',
    })
    const api = (path: string) => center.api('GET', `organisations/acme/${path}`)
    try {
      const memory = async () => {
        const { body } = await api('analysis?range=15m&environment=real')
        return body.charts
          .find(({ key }: { key: string }) => key === 'memory')
          .lines.map(({ name }: { name: string }) => name)
      }
      await expect.poll(memory).toContain('host')
      await fetch(`${satellite.url}/solution/none/index.html`)
      await expect.poll(async () => (await api('traces?environment=real')).body.items.length).toBeGreaterThan(0)
      expect(center.logged()).not.toMatch(/could not be stored/)
    } finally {
      await satellite.stop()
    }
  })
})

describe('forwarding', () => {
  let collector: Collector
  let forwarding: TestCenter
  beforeAll(async () => {
    collector = await startCollector()
    forwarding = await startTestCenter({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=value',
    })
  })
  afterAll(async () => {
    await forwarding?.stop()
    await collector?.stop()
  })

  test('all three signals are forwarded unchanged, except that the organisation’s and environment’s names are added', async () => {
    const { token } = await forwarding.environment('east')
    const satellite = new SimulatedHost()
    satellite.add('solhost_throttled_total', {}, 2)
    const forged = satellite.metrics() as { resourceMetrics: { resource: { attributes: object[] } }[] }
    forged.resourceMetrics[0]?.resource.attributes.push({
      key: 'solhost.organisation',
      value: { stringValue: 'other' },
    })
    await sendOtlp(forwarding.url, token, 'metrics', forged)
    await sendOtlp(forwarding.url, token, 'logs', satellite.logs([{ message: 'on and on', trace }]))
    const span = { trace, span: '1'.repeat(16), name: 'GET /', start: Date.now(), duration: 3 }
    await sendOtlp(forwarding.url, token, 'traces', satellite.spans([span]))
    await expect.poll(() => collector.received.length).toBe(3)
    const bodies = Object.assign({}, ...collector.received.map(({ body }) => body))
    for (const list of ['resourceMetrics', 'resourceLogs', 'resourceSpans']) {
      const attributes = attributesOf(bodies[list][0].resource.attributes)
      expect(attributes).toMatchObject({ 'solhost.organisation': 'acme', 'solhost.environment': 'east' })
      expect(attributes['service.instance.id']).toBe(satellite.instance)
    }
    expect(bodies.resourceLogs[0].scopeLogs[0].logRecords[0]).toMatchObject({
      traceId: trace,
      body: { stringValue: 'on and on' },
    })
    expect(bodies.resourceSpans[0].scopeSpans[0].spans[0]).toMatchObject({ traceId: trace, spanId: '1'.repeat(16) })
    expect(collector.received[0]?.headers['x-key']).toBe('value')
    expect(JSON.stringify(collector.received)).not.toContain(token)
  })

  test('while the collector is down, data is queued on disk and still stored locally', async () => {
    const { token } = await forwarding.environment('away')
    await collector.away()
    const before = collector.received.length
    const answer = await sendOtlp(forwarding.url, token, 'logs', new SimulatedHost().logs([{ message: 'patience' }]))
    expect(answer.status).toBe(200)
    expect((await forwarding.api('GET', 'organisations/acme/logs?words=patience')).body.items).toHaveLength(1)
    await collector.back()
    await expect.poll(() => collector.received.length).toBe(before + 1)
  })
})
