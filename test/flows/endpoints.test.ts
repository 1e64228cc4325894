import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiOf, codeOf } from '../support/api.ts'
import { runCli, temporaryFolder } from '../support/cli.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { type Answer, ask } from '../support/http.ts'
import { addUser, visit } from '../support/users.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf, zipOf } from '../support/zip.ts'

const SCRIPT = `function echo(request) { return request }
function order(request) { return { id: request.params.id, user: security.getUserName(), uid: security.getUserUID(),
  permissions: security.getUserPermissions(), tenant: security.getTenantValue(), language: i18n.getCurrentLanguage() } }
function latest() { return 'latest' }
function report() {
  const headers = { 'content-type': 'text/csv', 'content-disposition': 'attachment; filename="report.csv"', 'cache-control': 'max-age=60' }
  return plugins.http.answer(200, 'a;b', headers)
}
function fails(request) { throw new Error('secret of the script') }
function html() {
  return plugins.http.answer(200, '<b>', { 'content-type': 'text/html' })
}
function hang() { for (;;); }
function hook(request) { return plugins.http.answer(202, request.body) }`

const WEBHOOK = (scheme: string) => ({
  function: 'hook',
  authentication: 'signature',
  signature: { scheme, secret: 'HOOK' },
})

const ENDPOINTS = {
  'GET /orders/{id}': { function: 'order', authentication: ['session', 'token'], permission: 'Orders' },
  'GET /orders/latest': { function: 'latest', authentication: 'none' },
  'GET /caller': { function: 'order', authentication: 'none' },
  'POST /orders': {
    function: 'echo',
    authentication: ['session', 'token'],
    query: { type: 'object', properties: { page: { type: 'string', maxLength: 3 } } },
    body: {
      type: 'object',
      required: ['sku'],
      properties: { sku: { type: 'string', maxLength: 5 }, lines: { type: 'array', items: { type: 'integer' } } },
    },
  },
  'GET /report.csv': { function: 'report', authentication: 'session' },
  'POST /echo': { function: 'echo', authentication: 'none', cors: ['https://shop.example.org'] },
  'PUT /echo': { function: 'echo', authentication: 'none' },
  'GET /public': { function: 'report', authentication: 'none', cors: '*' },
  'GET /fails/{secret}': { function: 'fails', authentication: 'none' },
  'GET /html': { function: 'html', authentication: 'none' },
  'GET /hang': { function: 'hang', authentication: 'none' },
  'POST /hooks/stripe': WEBHOOK('stripe'),
  'POST /hooks/github': WEBHOOK('github'),
  'POST /hooks/standard': WEBHOOK('standard'),
  'POST /hooks/unset': { ...WEBHOOK('github'), signature: { scheme: 'github', secret: 'UNSET' } },
}

const MANIFEST = { authenticator: 'DEFAULT', permissions: ['Orders', 'Other'], endpoints: ENDPOINTS }

let host: TestHost
const api = apiOf(() => host)
const tokens: Record<string, string> = {}
let cookie = ''

type Sent = { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string }

function call(path: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Answer> {
  const given = body === undefined ? {} : { body }
  return ask(`${host.url}/solution/shop/api`, { method, headers, path: `/solution/shop/api${path}`, ...given })
}

const json = (value: unknown): Sent => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
})
const bearer = (name: string) => ({ authorization: `Bearer ${tokens[name]}` })
const own = () => ({ cookie, origin: host.url })
const codesOf = async (answers: readonly Promise<Answer>[]) => (await Promise.all(answers)).map(codeOf)

beforeAll(async () => {
  host = await startTestHost({ REQUEST_TIME: '700ms', REQUEST_BODY: '50k', REQUESTS_NETWORK: '400' })
  const uploaded = await host.upload('shop', await bundleOf({ name: 'shop', ...MANIFEST }, { 'globals.js': SCRIPT }))
  expect(uploaded.status, await uploaded.text()).toBe(201)
  const other = await bundleOf({ name: 'other', endpoints: {} }, {})
  expect((await host.upload('other', other)).status).toBe(201)
  await addUser(host, 'anna', { permissions: ['Orders'] })
  const visitor = await visit(host, 'shop')
  await visitor.post('/solution/shop/index.html', { username: 'anna', password: 'seven green tractors' })
  cookie = [...visitor.cookies].map(([name, { value }]) => `${name}=${value}`).join('; ')
  const wanted: Record<string, object> = {
    caller: { scopes: ['solutions:shop:call'], permissions: ['Orders'], tenant: ['north', 7] },
    poor: { scopes: ['solutions:shop:call'] },
    other: { scopes: ['solutions:other:call'], permissions: ['Orders'] },
    writer: { scopes: ['solutions:shop:write', 'solutions:*:read'] },
  }
  for (const [name, more] of Object.entries(wanted)) {
    const created = await api.send('POST', '/tokens', { name, ...more })
    tokens[name] = (created.json() as { token: string }).token
  }
  for (const [name, value] of [['HOOK', 'aG9vayBzZWNyZXQ=']]) {
    expect((await api.send('PUT', `/solutions/shop/secrets/${name}`, { value, hosts: [] })).status).toBe(204)
  }
})
afterAll(() => host.stop())

test('a session gives the function its user, permissions and the browser’s language', async () => {
  const answer = await call('/orders/7', { headers: { cookie, 'accept-language': 'nl' } })
  expect(answer.json()).toMatchObject({ id: '7', user: 'anna', permissions: ['Orders'], tenant: null })
  expect((await call('/orders', { ...json({ sku: 'a' }), headers: { ...json(0).headers, ...own() } })).status).toBe(200)
})

test('an endpoint for anyone has no user, even if the request has a session', async () => {
  const answer = await call('/caller', { headers: { cookie } })
  expect(answer.json()).toMatchObject({ user: null, uid: null, permissions: [], tenant: null })
})

test('a token gives the function the name, permissions and tenant of the token; a cookie in the same request is ignored', async () => {
  const { id } = (await api.items('/tokens')).find(({ name }) => name === 'caller') as { id: string }
  const user = `token:${id}`
  const expected = { id: '7', user, uid: user, permissions: ['Orders'], tenant: ['north', 7], language: 'en' }
  expect((await call('/orders/7', { headers: { ...bearer('caller'), cookie } })).json()).toEqual(expected)
  expect(codeOf(await call('/orders/7', { headers: { authorization: 'Bearer unknown', cookie } }))[0]).toBe(401)
})

test('without valid credentials, callers get 401, even with another solution’s token or one without the scope; without the permission 403', async () => {
  const refused = [
    {},
    bearer('other'),
    bearer('writer'),
    { authorization: 'Basic YTpi' },
    { cookie: 'session-shop=forged' },
  ]
  const ends = await codesOf(refused.map((headers) => call('/orders/7', { headers })))
  expect(ends).toEqual(refused.map(() => [401, 'ERR_UNAUTHENTICATED']))
  expect(codeOf(await call('/orders/7', { headers: bearer('poor') }))).toEqual([403, 'ERR_FORBIDDEN'])
  const [own, all] = [{ permissions: ['Orders'] }, { scopes: ['solutions:*:call'] }]
  for (const wanted of [own, all]) {
    const token = await api.send('POST', '/tokens', { name: 'x', scopes: ['users:read'], ...wanted })
    expect(codeOf(token)).toEqual([422, 'ERR_REQUEST_INVALID'])
  }
})

test('a deleted token stops working within a second', async () => {
  const created = await api.send('POST', '/tokens', {
    name: 'short',
    scopes: ['solutions:shop:call'],
    permissions: ['Orders'],
  })
  const { id, token } = created.json() as { id: string; token: string }
  const headers = { authorization: `Bearer ${token}` }
  expect((await call('/orders/7', { headers })).status).toBe(200)
  await api.send('DELETE', `/tokens/${id}`)
  const begun = performance.now()
  await waitUntil(async () => expect((await call('/orders/7', { headers })).status).toBe(401), { interval: 100 })
  expect(performance.now() - begun).toBeLessThan(1500)
})

test('with a session, requests from other origins get 403, including same-site ones; opening the URL is allowed', async () => {
  const post = { ...json({ sku: 'a' }).headers, cookie }
  const refused: Sent[] = [
    { headers: { cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' } },
    { headers: { cookie, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'empty' } },
    { headers: { cookie, origin: 'https://evil.example' } },
    ...[{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site', origin: host.url }, {}].map((more) => ({
      ...json({ sku: 'a' }),
      headers: { ...post, ...more } as Record<string, string>,
    })),
    { ...json({ sku: 'a' }), headers: { ...post, origin: 'null' } },
  ]
  const ends = await codesOf(refused.map((sent) => call(sent.method ? '/orders' : '/report.csv', sent)))
  expect(ends).toEqual(refused.map(() => [403, 'ERR_FOREIGN_ORIGIN']))
  const opened = { cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  expect((await call('/report.csv', { headers: opened })).status).toBe(200)
  const image = { headers: { cookie, 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'image' } }
  expect(codeOf(await call('/report.csv', image))).toEqual([403, 'ERR_NOT_A_NAVIGATION'])
})

test('a session’s report is a download that is neither rendered nor cached', async () => {
  const { status, headers, text } = await call('/report.csv', { headers: { cookie, accept: 'text/html' } })
  expect([status, text]).toEqual([200, 'a;b'])
  expect(headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="report.csv"',
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  })
  expect((await call('/public')).headers['cache-control']).toBe('max-age=60')
  const head = await call('/public', { method: 'HEAD' })
  expect([head.status, head.text, head.headers['content-type']]).toEqual([200, '', 'text/csv; charset=utf-8'])
})

/** Functions that create the headers with which a webhook's sender signs a body. */
const SIGNED = {
  stripe(body: string, at = Date.now(), secret = 'aG9vayBzZWNyZXQ=') {
    const time = String(Math.floor(at / 1000))
    const mac = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
    return { 'stripe-signature': `t=${time},v1=${'0'.repeat(64)},v1=${mac},v0=old` }
  },
  github(body: string) {
    const mac = createHmac('sha256', 'aG9vayBzZWNyZXQ=').update(body).digest('hex')
    return { 'x-hub-signature-256': `sha256=${mac}` }
  },
  standard(body: string, at = Date.now()) {
    const time = String(Math.floor(at / 1000))
    const key = Buffer.from('aG9vayBzZWNyZXQ=', 'base64')
    const mac = createHmac('sha256', key).update(`msg_1.${time}.${body}`).digest('base64')
    return { 'webhook-id': 'msg_1', 'webhook-timestamp': time, 'webhook-signature': `v1,${mac} v2,other` }
  },
}

test('a signed webhook is accepted; one changed byte, another time or a second delivery gets 401', async () => {
  for (const scheme of ['stripe', 'github', 'standard'] as const) {
    const body = `{"paid": "${scheme}"}`
    const type = { 'content-type': 'application/json' }
    const send = (headers: Record<string, string>, sent = body) =>
      call(`/hooks/${scheme}`, { method: 'POST', headers: { ...type, ...headers }, body: sent })
    const signed = SIGNED[scheme](body)
    expect((await send(signed, body.replace('paid', 'Paid'))).status, scheme).toBe(401)
    const accepted = await send(signed)
    expect([accepted.status, accepted.json()]).toEqual([202, { paid: scheme }])
    // GitHub's signature contains no time, and users may redeliver an event. So the host accepts a second delivery.
    expect((await send(signed)).status, scheme).toBe(scheme === 'github' ? 202 : 401)
    expect((await send({})).status).toBe(401)
    expect((await send(Object.fromEntries(Object.keys(signed).map((name) => [name, 'odd'])))).status).toBe(401)
  }
  const late = SIGNED.stripe('{}', Date.now() - 301_000)
  // A signature dated 301 s ahead could be within the tolerance by the time a slow host checks it.
  const early = SIGNED.standard('{}', Date.now() + 360_000)
  const forged = SIGNED.stripe('{}', Date.now(), 'another secret')
  for (const [path, headers] of [
    ['stripe', late],
    ['standard', early],
    ['stripe', forged],
  ] as const) {
    const sent = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{}' }
    expect((await call(`/hooks/${path}`, sent)).status).toBe(401)
  }
})

test('if a signature is sent ten times at the same time, one request is accepted', async () => {
  const body = '{"once":true}'
  const headers = { 'content-type': 'application/json', ...SIGNED.stripe(body) }
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => call('/hooks/stripe', { method: 'POST', headers, body })),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array(9).fill(401)])
})

test('a secret that is missing, or may be sent to a host, causes a 503 and a line in the log', async () => {
  const sent = { method: 'POST', headers: { 'content-type': 'text/plain', ...SIGNED.github('a') }, body: 'a' }
  expect(codeOf(await call('/hooks/unset', sent))).toEqual([503, 'ERR_SECRET_MISSING'])
  await api.send('PUT', '/solutions/shop/secrets/UNSET', { value: 'aG9vayBzZWNyZXQ=', hosts: ['api.example.org'] })
  await new Promise((resolve) => setTimeout(resolve, 1000))
  expect(codeOf(await call('/hooks/unset', sent))[0]).toBe(503)
  const lines = await api.items('/solutions/shop/log')
  const message = '"POST /hooks/unset" requires the secret UNSET: the operator must set it with an empty list of hosts'
  expect(lines.filter((line) => line.message === message)).toHaveLength(1)
})

test('the request has lowercase headers without credentials, the last value of each name, and a parsed body', async () => {
  const headers = { 'content-type': 'application/json; charset=UTF-8', 'X-Own': 'a', cookie, forwarded: 'for=1' }
  const more = { 'x-forwarded-for': '1.2.3.4', authorization: 'Bearer x', 'proxy-authorization': 'x' }
  const sent = { method: 'POST', headers: { ...headers, ...more }, body: '{"a":[1]}' }
  const request = (await call('/echo?b=1&b=2&a=', sent)).json() as Record<string, Record<string, unknown>>
  expect(request).toMatchObject({
    method: 'POST',
    path: '/echo',
    params: {},
    query: { a: '', b: '2' },
    body: { a: [1] },
  })
  expect(request.headers).toMatchObject({ 'x-own': 'a', 'content-type': headers['content-type'] })
  const names = Object.keys(request.headers ?? {}).join(' ')
  expect(names).not.toMatch(/authorization|cookie|forwarded|proxy/)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  expect((await call('/echo', { method: 'POST', headers: form, body: 'a=1&a=2&b=%C3%A9' })).json()).toMatchObject({
    body: { a: '2', b: 'é' },
  })
  expect(
    (await call('/echo', { method: 'PUT', headers: { 'content-type': 'text/csv' }, body: 'a;b' })).json(),
  ).toMatchObject({ body: 'a;b' })
  expect((await call('/echo', { method: 'PUT' })).json()).toMatchObject({ method: 'PUT', body: null })
})

test('bodies that cannot be read are refused before a script runs', async () => {
  const cases: [Sent & { body: string }, number, string][] = [
    [{ headers: { 'content-type': 'application/json' }, body: '{"a":1,"a":2}' }, 400, 'ERR_BAD_REQUEST'],
    [{ headers: { 'content-type': 'application/json' }, body: '{"__proto__":{}}' }, 400, 'ERR_BAD_REQUEST'],
    [{ headers: { 'content-type': 'application/json' }, body: '['.repeat(40) }, 400, 'ERR_BAD_REQUEST'],
    [{ headers: { 'content-type': 'application/json' }, body: '{' }, 400, 'ERR_BAD_REQUEST'],
    [{ headers: { 'content-type': 'application/xml' }, body: '<a/>' }, 415, 'ERR_CONTENT_TYPE'],
    [{ headers: {}, body: 'a' }, 415, 'ERR_CONTENT_TYPE'],
    [{ headers: { 'content-type': 'text/plain; charset=latin1' }, body: 'a' }, 415, 'ERR_CONTENT_TYPE'],
    [{ headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' }, body: 'a' }, 415, 'ERR_CONTENT_TYPE'],
    [{ headers: { 'content-type': 'text/plain' }, body: 'a'.repeat(51 * 1024) }, 413, 'ERR_BODY_TOO_LARGE'],
  ]
  for (const [sent, status, code] of cases) {
    expect(codeOf(await call('/echo', { ...sent, method: 'POST' })), sent.body.slice(0, 20)).toEqual([status, code])
  }
})

test('input that a schema rejects gets 422 with the location of each error, including unknown names', async () => {
  const sent = {
    ...json({ sku: 'too long', lines: [1, 1.5], other: 1 }),
    headers: { ...json(0).headers, ...bearer('poor') },
  }
  const refused = (await call('/orders?page=1000&sort=a', sent)).json() as {
    status: number
    faults: { path: string }[]
  }
  expect(refused).toMatchObject({ status: 422, code: 'ERR_REQUEST_INVALID' })
  expect(refused.faults.map(({ path }) => path)).toEqual(['query.page', 'query', 'body.sku', 'body.lines.1', 'body'])
  const missing = await call('/orders', { method: 'POST', headers: bearer('poor') })
  expect(codeOf(missing)).toEqual([422, 'ERR_REQUEST_INVALID'])
})

test('paths: literals take precedence, other methods get 405, and invalid segments get 404', async () => {
  expect((await call('/orders/latest')).json()).toBe('latest')
  expect((await call('/orders/a%20b', { headers: bearer('caller') })).json()).toMatchObject({ id: 'a b' })
  const wrong = await call('/orders/latest', { method: 'DELETE' })
  expect([codeOf(wrong), wrong.headers.allow]).toEqual([[405, 'ERR_METHOD_NOT_ALLOWED'], 'HEAD, GET, OPTIONS'])
  const odd = [
    '/',
    '/orders/',
    '/orders/%2e%2e',
    '/orders/a%2Fb',
    '/orders/a%5Cb',
    '/orders/%00',
    '/orders/%ff',
    '/none',
    '/orders/7/8',
  ]
  const ends = await codesOf(odd.map((path) => call(path, { headers: bearer('caller') })))
  expect(ends).toEqual(odd.map(() => [404, 'ERR_NOT_FOUND']))
})

test('CORS: only the listed origins may read the response, and never with credentials', async () => {
  const preflight = (path: string, origin: string, method = 'POST') =>
    call(path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'content-type,x-own,cookie',
      },
    })
  const { status, headers } = await preflight('/echo', 'https://shop.example.org')
  expect(status).toBe(204)
  expect(headers).toMatchObject({
    'access-control-allow-origin': 'https://shop.example.org',
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'content-type, x-own',
  })
  expect(headers.vary).toContain('Origin')
  expect(headers['access-control-allow-credentials']).toBeUndefined()
  for (const [path, origin, method] of [
    ['/echo', 'https://evil.example', 'POST'],
    ['/echo', 'https://shop.example.org', 'PUT'],
    ['/orders', 'https://shop.example.org', 'POST'],
  ] as const) {
    expect((await preflight(path, origin, method)).headers['access-control-allow-origin']).toBeUndefined()
  }
  const refused = await call('/echo', { method: 'POST', headers: { origin: 'https://shop.example.org' }, body: 'a' })
  expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([415, 'https://shop.example.org'])
  expect(
    (await call('/public', { headers: { origin: 'https://a.example' } })).headers['access-control-allow-origin'],
  ).toBe('*')
})

test('a script’s errors cause a 500 without the message; an endless loop causes a 504, and the next call works', async () => {
  const failed = await call('/fails/path-secret')
  expect(codeOf(failed)).toEqual([500, 'script_error'])
  expect(failed.headers['content-type']).toContain('application/problem+json')
  expect(failed.text).not.toContain('secret')
  expect(codeOf(await call('/html'))).toEqual([500, 'script_error'])
  expect(codeOf(await call('/hang'))).toEqual([504, 'script_timeout'])
  expect((await call('/orders/latest')).status).toBe(200)
  const lines = await api.items('/solutions/shop/log')
  const line = lines.find(({ message }) => String(message).includes('the content type text/html is not allowed'))
  expect(line).toMatchObject({ level: 'error', code: 'script_error', file: 'globals.js', line: 11 })
  expect(lines.find(({ message }) => String(message).includes('secret of the script'))?.correlationId).toBe(
    (failed.json() as { correlationId: string }).correlationId,
  )
})

test('the API lists the endpoints with their calls, and describes them as OpenAPI, like solhost openapi', async () => {
  await call('/orders/latest')
  const { items, retryAt } = (await api.send('GET', '/solutions/shop/endpoints')).json() as {
    items: { method: string; path: string; calls: number; failures: number; p95: number | null }[]
    retryAt: number | null
  }
  expect([items.length, retryAt]).toEqual([Object.keys(ENDPOINTS).length, null])
  const latest = items.find(({ path }) => path === '/orders/latest')
  expect(latest).toMatchObject({ method: 'GET', function: 'latest', authentication: ['none'], failures: 0 })
  expect(latest?.calls).toBeGreaterThan(0)
  expect(items.find(({ path }) => path === '/fails/{secret}')?.failures).toBeGreaterThan(0)
  const document = await api.get('/solutions/shop/endpoints/openapi.json')
  expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: '/solution/shop/api' }] })
  const manifest = JSON.stringify({ name: 'shop', version: '1.0.0', ...MANIFEST })
  using folder = temporaryFolder({ 'solution.json': manifest, 'globals.js': SCRIPT })
  const printed = await runCli(['openapi'], { cwd: folder.path })
  expect([printed.code, JSON.parse(printed.out)]).toEqual([0, document])
  const { paths } = document as { paths: Record<string, Record<string, Record<string, unknown>>> }
  expect(paths['/orders/{id}']?.get?.security).toEqual([{ session: [] }, { token: [] }])
  expect(paths['/orders']?.post).toMatchObject({
    parameters: [{ name: 'page', in: 'query', schema: { type: 'string', maxLength: 3 } }],
    requestBody: { content: { 'application/json': { schema: { additionalProperties: false, required: ['sku'] } } } },
  })
  expect((await api.get('/solutions/other/endpoints')).items).toEqual([])
})

test('during maintenance, only requests with a session are served', async () => {
  await api.send('PUT', '/maintenance', { on: true })
  try {
    const ends = [call('/orders/latest'), call('/orders/7', { headers: bearer('caller') }), call('/orders/7')]
    expect(await codesOf(ends)).toEqual(ends.map(() => [503, 'ERR_MAINTENANCE']))
    expect((await call('/orders/7', { headers: { cookie } })).status).toBe(200)
  } finally {
    await api.send('PUT', '/maintenance', { on: false })
  }
})

test('no path parameter, body, token or secret is logged', async () => {
  const body = JSON.stringify({ sku: 'body-secret' })
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${tokens.caller}` }
  await call('/fails/path-secret?q=query-secret', { headers })
  await call('/orders', { method: 'POST', headers, body })
  const log = (await api.send('GET', '/solutions/shop/log')).text
  const audit = (await api.send('GET', '/audit')).text
  for (const secret of ['path-secret', 'query-secret', 'body-secret', tokens.caller as string, 'aG9vayBzZWNyZXQ=']) {
    expect(`${host.logged()}${log}${audit}`).not.toContain(secret)
  }
})

test('a function that no script declares is refused at the upload, as is top-level code that needs forms', async () => {
  const upload = async (named: string, script: string, key: 'endpoints' | 'jobs' = 'endpoints') => {
    const declared =
      key === 'jobs' ? { a: { function: named } } : { 'GET /a': { function: named, authentication: 'none' } }
    const packed = await bundleOf({ name: 'broken', [key]: declared }, { 'globals.js': script })
    const answer = await host.upload('broken', packed)
    const { faults = [] } = (await answer.json()) as { faults?: { code: string; message: string }[] }
    return [answer.status, ...faults.map(({ code }) => code)]
  }
  for (const name of ['missing', 'value', 'Object', 'security']) {
    expect(await upload(name, 'const value = 1'), name).toEqual([422, 'function_missing'])
  }
  expect(await upload('missing', '', 'jobs')).toEqual([422, 'function_missing'])
  expect(await upload('run', 'function run() {}; const open = forms.orders')).toEqual([422, 'script_load'])
  expect(await upload('run', 'const run = async () => 1')).toEqual([201])
})

test('a missing function is reported at its line in the manifest, with the nearest name', async () => {
  const manifest = {
    name: 'typo',
    version: '1.0.0',
    modules: ['base'],
    endpoints: { 'GET /a': { function: 'remnd', authentication: 'none' } },
  }
  const module = { name: 'base', type: 'module', version: '1.0.0', jobs: { clean: { function: 'other' } } }
  const packed = await zipOf({
    'solution.json': JSON.stringify(manifest, null, 2),
    'globals.js': 'const send = async () => 1\nfunction remind() {}',
    'modules/base/solution.json': JSON.stringify(module, null, 2),
  })
  const answer = await host.upload('typo', packed)
  const { faults } = (await answer.json()) as { faults: { file: string; line: number; message: string }[] }
  expect(faults.map(({ file, line, message }) => `${file}:${line} ${message}`)).toEqual([
    'solution.json:9 "endpoints.GET /a" requires the function remnd, but no script declares it at the top level; did you mean "remind"?',
    'modules/base/solution.json:7 "jobs.clean" requires the function other, but no script declares it at the top level',
  ])
})

test('while REQUESTS_AT_ONCE calls of a solution run, another request waits for a second, and then gets 503', async () => {
  const narrow = await startTestHost({ REQUESTS_AT_ONCE: '1', REQUEST_TIME: '4s' })
  try {
    const endpoints = { 'GET /hang': ENDPOINTS['GET /hang'], 'GET /latest': ENDPOINTS['GET /orders/latest'] }
    await narrow.upload('shop', await bundleOf({ name: 'shop', endpoints }, { 'globals.js': SCRIPT }))
    const get = (path: string) => ask(`${narrow.url}/solution/shop/api${path}`)
    expect((await get('/latest')).status).toBe(200)
    const hanging = get('/hang')
    await new Promise((resolve) => setTimeout(resolve, 200))
    const refused = await get('/latest')
    expect(codeOf(refused)).toEqual([503, 'sandbox_busy'])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await hanging).status).toBe(504)
    expect((await get('/latest')).status).toBe(200)
  } finally {
    await narrow.stop()
  }
})

test('a request does not run if its client leaves while it waits for its turn', async () => {
  // The requests start at least 0.9 s apart, because each one waits for its turn. The first also starts a process.
  const slow = await startTestHost({ REQUESTS_NETWORK: '4' })
  try {
    const endpoints = { 'GET /fails': { function: 'fails', authentication: 'none' } }
    await slow.upload('shop', await bundleOf({ name: 'shop', endpoints }, { 'globals.js': SCRIPT }))
    const url = `${slow.url}/solution/shop/api/fails`
    for (const _ of [1, 2]) expect((await ask(url)).status).toBe(500)
    await expect(fetch(url, { signal: AbortSignal.timeout(100) })).rejects.toThrow('aborted')
    expect((await ask(url)).status).toBe(500)
    const { items } = (await apiOf(() => slow).send('GET', '/solutions/shop/log')).json() as { items: unknown[] }
    expect(items).toHaveLength(3)
  } finally {
    await slow.stop()
  }
})

test('a network that sends too many public or refused requests gets 429; callers with valid credentials do not', async () => {
  const flood = async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => call('/none')))
    return answers.filter(({ status }) => status === 429).length
  }
  await waitUntil(async () => expect(await flood()).toBeGreaterThan(0), { interval: 0 })
  const refused = await call('/public')
  expect(codeOf(refused)).toEqual([429, 'ERR_THROTTLED'])
  expect(refused.headers['content-security-policy']).toContain('sandbox')
  expect(refused.json()).toMatchObject({ correlationId: refused.headers['x-correlation-id'] })
  expect(codeOf(await call('/public', { headers: { cookie } }))).toEqual([429, 'ERR_THROTTLED'])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect((await call('/orders/7', { headers: bearer('caller') })).status).toBe(200)
  expect((await call('/orders/7', { headers: { cookie } })).status).toBe(200)
})
