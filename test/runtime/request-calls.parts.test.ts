import { afterAll, expect, test } from 'vitest'
import { readEndpointAnswer } from '../../plugins/http/answer.ts'
import type { HttpPorts } from '../../plugins/http/host.ts'
import { CALL_KINDS } from '../../runtime/call-kinds.ts'
import type { Json } from '../../runtime/plugin.ts'
import { createScriptLab, manifestOf } from '../support/solutions.ts'
import { waitUntil } from '../support/wait-until.ts'

// Tests calls to an endpoint's function (calls of kind `request`), without HTTP.

const http: HttpPorts = { granted: async () => [], send: () => Promise.reject(new Error()), onRefused: () => {} }
const lab = createScriptLab({ needs: { http }, limits: { ANSWER_SIZE: 100_000 } })
const hurried = createScriptLab({ limits: { REQUEST_TIME: 300, JOB_TIME: 300 } })
afterAll(() => {
  lab.stop()
  hurried.stop()
})

const SCRIPT = `let calls = 0
function count() { return ++calls }
function evaluate(request) { return (0, eval)('(' + request.body + ')')(request) }
function onSolutionOpen() { security.login('anna', 'u1', ['Users']); return null }
function hang() { for (;;); }`

const parts = {
  manifest: manifestOf({ name: 'shop', authenticator: 'AUTHENTICATOR', modules: ['auth'] }),
  modules: [{ name: 'auth', manifest: manifestOf({ name: 'auth', type: 'authenticator' }) }],
  scripts: [
    { module: 'auth', file: 'modules/auth/globals.js', source: SCRIPT },
    { module: null, file: 'globals.js', source: SCRIPT },
  ],
}
const solution = lab.solution(parts)
const caller = {
  correlationId: 'TEST0-00000',
  user: null,
  account: null,
  address: '127.0.0.1',
  locale: 'en',
  serverUrl: 'http://127.0.0.1:8080',
}

async function call(entry: string, request: Readonly<Record<string, Json>> = {}) {
  const from = lab.lines.length
  const asked = { entry, args: [request], secrets: new Map(), call: { ...caller, kind: 'request' as const } }
  const { failure, result = null } = await lab.runEntry(solution, asked)
  return { failure, result, log: lab.lines.slice(from) }
}

/**
 * Runs the function defined by this source text for the request.
 * @returns the function's response
 */
async function answerOf(source: string, request: Readonly<Record<string, Json>> = {}) {
  const { failure, result } = await call('evaluate', { ...request, body: source })
  if (failure !== null) throw new Error(`${failure.code}: ${failure.message}`)
  const { status, headers, body } = readEndpointAnswer(result, 100_000)
  return { status, headers: Object.fromEntries(headers), body }
}

test('the function’s result is sent as JSON, whatever its type; nothing and null have no body', async () => {
  const none = { status: 204, headers: {}, body: null }
  expect(await answerOf('() => undefined')).toEqual(none)
  expect(await answerOf('async () => null')).toEqual(none)
  expect(await answerOf('() => 0')).toEqual({ status: 200, headers: {}, body: '0' })
  expect(await answerOf('() => "<b>"')).toEqual({ status: 200, headers: {}, body: '"<b>"' })
  expect(await answerOf('async () => ({ a: [1, { b: "ü" }] })')).toMatchObject({ body: '{"a":[1,{"b":"ü"}]}' })
  const imitated = '{"status":299,"headers":{"x-a":"b"}}'
  expect(await answerOf(`() => (${imitated})`)).toEqual({ status: 200, headers: {}, body: imitated })
  await expect(answerOf('() => () => 1')).rejects.toThrow(
    'the function returned a function, which cannot be converted to JSON',
  )
  await expect(answerOf('() => { const a = {}; a.a = a; return a }')).rejects.toThrow('script_error: TypeError')
})

test('plugins.http.answer: status, headers and body count only if the function returns the answer', async () => {
  const located = 'plugins.http.answer(201, { id: 7 }, { Location: "/orders/7", "x-a": "b c" })'
  const expected = { status: 201, headers: { location: '/orders/7', 'x-a': 'b c' }, body: '{"id":7}' }
  expect(await answerOf(`() => ${located}`)).toEqual(expected)
  expect(await answerOf(`async () => ${located}`)).toEqual(expected)
  expect(await answerOf(`() => { ${located}; return 1 }`)).toEqual({ status: 200, headers: {}, body: '1' })
  const csv = 'plugins.http.answer(200, "a;b\\n", { "content-type": "text/csv; charset=utf-8" })'
  expect(await answerOf(`() => ${csv}`)).toMatchObject({ body: 'a;b\n' })
  expect(await answerOf('() => plugins.http.answer(404)')).toEqual({ status: 404, headers: {}, body: null })
})

test('plugins.http.answer: headers that the platform sets and types that browsers render or run cause a TypeError', async () => {
  const refused = [
    ...['100', '199', '300', '301', '304', '399', '600', '200.5', '"200"', '303', '307'].map((status) => [status]),
    ['204', '1'],
    ...['set-cookie', 'Content-Security-Policy', 'content-length', 'x-accel-redirect', 'X-Sendfile', 'x-correlation-id']
      .concat(['access-control-allow-origin', 'x-content-type-options', 'x-forwarded-for', 'refresh', 'x a'])
      .map((name) => ['200', '1', JSON.stringify({ [name]: 'a' })]),
    ...[
      'text/html',
      'TEXT/HTML; charset=utf-8',
      'application/xhtml+xml',
      'image/svg+xml',
      'text/xsl',
      'text/javascript',
    ]
      .concat([
        'application/wasm',
        'multipart/mixed',
        'text/event-stream',
        'text/csv; charset=utf-7',
        'csv',
        'a/b, c/d',
      ])
      .map((type) => ['200', '"x"', JSON.stringify({ 'content-type': type })]),
    ...['javascript:alert(1)', '//example.org', 'orders', '/a\\b'].map((location) => [
      '303',
      'null',
      JSON.stringify({ location }),
    ]),
    ['200', '1', '{ "x-a": "b\\r\\nset-cookie: c" }'],
    ['200', '1', '{ "x-a": 1 }'],
    ['200', '1', '{ "x-a": "1", "X-A": "2" }'],
    ['200', '{ a: 1 }', '{ "content-type": "text/plain" }'],
  ]
  for (const given of refused) {
    const asked = `() => plugins.http.answer(${given.join(', ')})`
    await expect(answerOf(asked), asked).rejects.toThrow('script_error: TypeError: plugins.http.answer: ')
  }
  const { failure } = await call('evaluate', {
    body: '() => plugins.http.answer(200, "", { "content-type": "text/html" })',
  })
  expect(failure?.position).toMatchObject({ file: 'globals.js', line: 3 })
})

test('plugins.http.answer: the host applies the same rules to answers from a compromised process', () => {
  const fine = { status: 200, headers: {}, value: 1 }
  expect(readEndpointAnswer(JSON.stringify(fine), 10).body).toBe('1')
  for (const forged of [
    '',
    '[]',
    '{}x',
    ...[{ status: 301 }, { headers: { 'set-cookie': 'a' } }, { headers: { 'x-accel-redirect': '/a' } }, { other: 1 }]
      .concat([{ headers: { 'content-type': 'text/html' } }, { headers: { location: 'javascript:1' } }] as never)
      .concat([{ headers: { 'x-a': 'a\r\nb: c' } }, { text: 'no type' }] as never)
      .map((changed) => JSON.stringify({ ...fine, ...changed })),
  ]) {
    expect(() => readEndpointAnswer(forged, 10), forged).toThrow(TypeError)
  }
  expect(() => readEndpointAnswer('{"value":"äöü€€€"}', 10)).toThrow('the response is larger than ANSWER_SIZE allows')
})

test('bindings that need a page or a session throw a TypeError; security.login returns false', async () => {
  const asked = `() => {
    const calls = {
      logout: () => security.logout(), setTenantValue: () => security.setTenantValue(1),
      showURL: () => application.showURL('/a'), showForm: () => application.showForm('orders'),
      executeLater: () => application.executeLater(() => {}, 1), closeSolution: () => application.closeSolution(),
    }
    const kinds = Object.entries(calls).map(([name, call]) => {
      try { call(); return [name, 'no error'] } catch (error) { return [name, error.name] }
    })
    return [...kinds, ['login', security.login('eve', 'u', ['Users'])], ['factor', security.requireSecondFactor()]]
  }`
  const { body } = await answerOf(asked)
  const thrown = ['logout', 'setTenantValue', 'showURL', 'showForm', 'executeLater', 'closeSolution']
  expect(JSON.parse(body ?? '')).toEqual([
    ...thrown.map((name) => [name, 'TypeError']),
    ['login', false],
    ['factor', false],
  ])
  const { refuses } = CALL_KINDS.request
  expect(thrown.filter((name) => !refuses.some((one) => one.endsWith(`.${name}`)))).toEqual([])
  const ofLogin = await lab.run({ script: 'function onSolutionOpen() { plugins.http.answer(200) }' })
  expect(ofLogin.failure?.message).toContain('can be called only in an endpoint')
})

test('the request and everything in it have no prototype, and no property of the data is lost', async () => {
  const request = { params: { id: '1' }, query: { toString: 'q' }, headers: {}, list: [{ a: { b: 1 } }] }
  const { body } = await answerOf(
    `(request) => {
      const objects = [request, request.params, request.query, request.headers, request.list[0], request.list[0].a]
      return [objects.map(Object.getPrototypeOf), '' + request, request.params.hasOwnProperty('id'), request.query.toString,
        request.list.map(({ a }) => a.b), JSON.stringify(request.params)]
    }`,
    request,
  )
  const nulls = [null, null, null, null, null, null]
  expect(JSON.parse(body ?? '')).toEqual([nulls, '[object Object]', true, 'q', [1], '{"id":"1"}'])
})

test('each call has fresh globals, even if the next one calls another function', async () => {
  const results: unknown[] = []
  for (const entry of ['count', 'count', 'evaluate', 'count']) {
    results.push((await call(entry, { body: '() => ++calls' })).result)
  }
  expect(results).toEqual(Array(4).fill('{"value":1}'))
  const { failure } = await call('missing')
  expect(failure?.message).toContain('the scripts have no function missing')
})

test('a response may have ANSWER_SIZE characters, however they are escaped, and no more', async () => {
  for (const character of ['"', '\\u0001', '\\\\']) {
    const asked = `() => plugins.http.answer(200, '${character}'.repeat(100_000), { 'content-type': 'text/plain' })`
    expect((await answerOf(asked)).body).toHaveLength(100_000)
  }
  for (const asked of [
    '() => "x".repeat(100_000)',
    '() => plugins.http.answer(200, "x".repeat(100_001), { "content-type": "text/plain" })',
    '() => plugins.http.answer(200, ["x".repeat(100_000)])',
  ]) {
    const { failure } = await call('evaluate', { body: asked })
    expect(failure).toMatchObject({ code: 'script_quota', limit: { name: 'ANSWER_SIZE', allowed: 100_000 } })
  }
})

const LIMITED = [
  { kind: 'request', processes: 'requests', name: 'REQUEST_TIME', what: 'endpoints' },
  { kind: 'job', processes: 'jobs', name: 'JOB_TIME', what: 'jobs' },
] as const

test.each(LIMITED)(
  'an endless loop ends at $name; after three, $what are paused, but sign-ins are not',
  async (row) => {
    const paused = hurried.solution(parts)
    const run = (kind: 'login' | 'request' | 'job', entry: string) =>
      hurried.runEntry(paused, { entry, args: [null, {}], secrets: new Map(), call: { ...caller, kind } })
    const before = (await run('login', 'onSolutionOpen')).effects.login?.username
    const ends = [await run(row.kind, 'hang'), await run(row.kind, 'hang'), await run(row.kind, 'hang')]
    ends.push(await run(row.kind, 'count'))
    expect(ends.map(({ failure }) => failure?.code)).toEqual([...Array(3).fill('script_timeout'), 'sandbox_busy'])
    expect(ends[0]?.failure).toMatchObject({ limit: { name: row.name, allowed: 300 }, position: { line: 5 } })
    const { key } = paused.loadable
    expect(hurried.supervisor.retryAtOf(row.processes, key)).toBeGreaterThan(Date.now())
    expect(hurried.supervisor.retryAt(key)).toBeNull()
    expect([before, (await run('login', 'onSolutionOpen')).effects.login?.username]).toEqual(['anna', 'anna'])
    expect(hurried.supervisor.processes().filter((one) => one.key === key)).toHaveLength(1)
    hurried.supervisor.retire(key)
    await waitUntil(() => expect(hurried.supervisor.processes().filter((one) => one.key?.startsWith(key))).toEqual([]))
  },
)
