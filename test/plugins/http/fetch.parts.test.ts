import { afterAll, beforeEach, expect, test } from 'vitest'
import http, { type HttpAnswer, type HttpRequest } from '../../../plugins/http/host.ts'
import { PlatformError } from '../../../runtime/errors.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { createScriptLab, type ScriptEnd, type ScriptRun } from '../../support/solutions.ts'

const MANIFEST = { http: ['api.example.org', 'other.example.org:8443', 'ungranted.example.org', '[2606:4700::1]:443'] }
const GRANTED = ['api.example.org', 'other.example.org:8443', 'unasked.example.org', '[2606:4700::1]:443']

let sent: HttpRequest[] = []
let refused: string[] = []
let answer: (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>

function answerOf(body: string | Uint8Array, status = 200, headers: Record<string, string> = {}): HttpAnswer {
  return { status, headers, body: typeof body === 'string' ? new TextEncoder().encode(body) : body }
}

beforeEach(() => {
  sent = []
  refused = []
  answer = () => answerOf('')
})

function createHttpLab(limits: { FETCH_AT_ONCE?: number; FETCH_TIME?: number } = {}) {
  const ports = {
    granted: async () => GRANTED,
    send: async (request: HttpRequest) => {
      sent.push(request)
      return answer(request)
    },
    onRefused: (_call: unknown, host: string, why: string) => void refused.push(`${host} ${why}`),
  }
  return createScriptLab({ manifest: MANIFEST, limits, plugins: [http(ports, createLimits(limits))] })
}

const lab = createHttpLab()
const narrow = createHttpLab({ FETCH_AT_ONCE: 1, FETCH_TIME: 200 })
afterAll(() => {
  lab.stop()
  narrow.stop()
})

function run(body: string, on = lab, options: Omit<ScriptRun, 'script'> = {}): Promise<ScriptEnd> {
  return on.run({ evaluated: true, ...options, script: `async function onSolutionOpen() {\n${body}\n}` })
}

/**
 * Runs `body` in the guest, as the body of an async function.
 * @returns its result
 */
async function resultOf(body: string, on = lab): Promise<unknown> {
  const end = await run(`return JSON.stringify({ value: await (async () => { ${body} })() })`, on)
  if (end.failure) throw new Error(`${end.failure.code}: ${end.failure.message}`)
  return end.values.value
}

/**
 * Calls `plugins.http.fetch(args)` in the guest.
 * @returns the error that the call throws, as a string; null if the request succeeds
 */
function errorOf(args: string, on = lab): Promise<unknown> {
  return resultOf(`try { await plugins.http.fetch(${args}) } catch (error) { return String(error) } return null`, on)
}

test('plugins.http.fetch: a GET without options returns status, ok, headers, text and JSON', async () => {
  answer = () => answerOf('{"name":"Zoë"}', 200, { 'content-type': 'application/json' })
  const got = await resultOf(`const answer = await plugins.http.fetch('https://api.example.org/a?b=c')
    return { ...answer, headers: answer.headers, json: answer.json(), parent: Object.getPrototypeOf(answer.headers) }`)
  expect(got).toEqual({
    status: 200,
    ok: true,
    headers: { 'content-type': 'application/json' },
    text: '{"name":"Zoë"}',
    json: { name: 'Zoë' },
    parent: null,
  })
  const { FETCH_SIZE: maxBytes, FETCH_TIME: timeoutMs } = createLimits()
  expect(sent).toEqual([
    { url: 'https://api.example.org/a?b=c', method: 'GET', headers: {}, body: null, maxBytes, timeoutMs },
  ])
})

test('plugins.http.fetch: method, headers and body are sent unchanged', async () => {
  await resultOf(
    `await plugins.http.fetch('https://api.example.org/', { method: 'patch', headers: { 'X-Key': 'k' }, body: 'ä' })`,
  )
  expect(sent[0]).toMatchObject({ method: 'PATCH', headers: { 'X-Key': 'k' }, body: 'ä' })
})

test('plugins.http.fetch: a status other than 2xx is a response, not an error', async () => {
  answer = () => answerOf('gone', 404)
  const got = await resultOf(`const { status, ok, text } = await plugins.http.fetch('https://api.example.org/')
    return { status, ok, text }`)
  expect(got).toEqual({ status: 404, ok: false, text: 'gone' })
})

test('plugins.http.fetch: invalid UTF-8 becomes replacement characters, and a byte order mark is removed', async () => {
  answer = () => answerOf(new Uint8Array([0xef, 0xbb, 0xbf, 0x61, 0xff]))
  expect(await resultOf("return (await plugins.http.fetch('https://api.example.org/')).text")).toBe('a\ufffd')
})

test('plugins.http.fetch: json() for invalid JSON throws the script realm’s SyntaxError', async () => {
  answer = () => answerOf('<html>')
  const body = `const answer = await plugins.http.fetch('https://api.example.org/')
    try { answer.json() } catch (error) { return [error instanceof SyntaxError, error.constructor === SyntaxError] }`
  expect(await resultOf(body)).toEqual([true, true])
})

test('plugins.http.fetch: headers with the names of inherited properties are only data', async () => {
  answer = () =>
    answerOf(
      '',
      200,
      Object.fromEntries([
        ['__proto__', 'x'],
        ['constructor', 'y'],
      ]),
    )
  const body = `const { headers } = await plugins.http.fetch('https://api.example.org/')
    return [Object.keys(headers), headers['__proto__'], headers.constructor, {}.x === undefined]`
  expect(await resultOf(body)).toEqual([['__proto__', 'constructor'], 'x', 'y', true])
})

test('plugins.http.fetch: a response of the maximum size reaches the script, even if its characters expand in JSON', async () => {
  answer = () => answerOf('\u0001'.repeat(1024 ** 2))
  expect(await resultOf("return (await plugins.http.fetch('https://api.example.org/')).text.length")).toBe(1024 ** 2)
})

test('plugins.http.fetch: binding and response are read-only', async () => {
  const body = `'use strict'
    const answer = await plugins.http.fetch('https://api.example.org/')
    return [plugins, plugins.http, plugins.http.fetch, answer, answer.headers, answer.json].map(Object.isFrozen)`
  expect(await resultOf(body)).toEqual([true, true, true, true, true, true])
})

// --- grants ----------------------------------------------------------------------------------------------------------

test.each([
  'https://api.example.org/',
  'http://api.example.org/',
  'https://API.EXAMPLE.ORG./',
  'https://api.example.org:443/',
  'https://other.example.org:8443/',
  'http://other.example.org:8443/',
  'https://[2606:4700:0:0::1]/',
])('plugins.http.fetch: a host that is requested and granted can be reached: %s', async (url) => {
  await resultOf(`await plugins.http.fetch('${url}')`)
  expect(sent.map((request) => request.url)).toEqual([url])
})

test.each([
  [
    'https://api.example.org:8443/',
    'the manifest does not list api.example.org:8443: add it to "http" in solution.json',
  ],
  ['https://other.example.org/', 'the manifest does not list other.example.org: add it to "http" in solution.json'],
  ['https://unasked.example.org/', 'the manifest does not list unasked.example.org: add it to "http" in solution.json'],
  ['https://sub.api.example.org/', 'the manifest does not list sub.api.example.org: add it to "http" in solution.json'],
  [
    'https://api.example.org.evil.example/',
    'the manifest does not list api.example.org.evil.example: add it to "http" in solution.json',
  ],
  [
    'https://api.example.org@evil.example/',
    'the manifest does not list evil.example: add it to "http" in solution.json',
  ],
  [
    'https://evil.example/api.example.org',
    'the manifest does not list evil.example: add it to "http" in solution.json',
  ],
  ['http://0x7f.1:8081/', 'the manifest does not list 127.0.0.1:8081: add it to "http" in solution.json'],
  [
    'https://ungranted.example.org/?key=s3cret',
    'the operator has not granted ungranted.example.org to this solution; ask the operator to grant it',
  ],
  // Parsing a long host name takes quadratic time, so the host must not parse it.
  [`https://${'a'.repeat(261)}/`, 'the URL is not an http or https URL, or its host name is too long'],
])('plugins.http.fetch: %s is rejected', async (url, message) => {
  expect(await errorOf(`'${url}'`)).toBe(`Error: ${message}`)
  expect(sent).toEqual([])
})

test('plugins.http.fetch: the manifest of a module can also request hosts', async () => {
  const plugin = http(
    { granted: async () => ['mod.example.org'], send: async () => answerOf('x'), onRefused: () => {} },
    createLimits(),
  )
  const facts = { manifest: { http: [] }, modules: [{ name: 'm', manifest: { http: ['mod.example.org'] } }] }
  const call = { kind: 'login', correlationId: 'X', solution: facts } as never
  const args = ['https://mod.example.org/', 'GET', []] as never
  expect(await plugin.requests?.fetch?.answer(call, args)).toEqual({ status: 200, headers: [], text: 'x' })
})

test('plugins.http.fetch: a rejected attempt is reported to the host once per host name and call', async () => {
  const body = `for (const path of ['a', 'b']) {
      await plugins.http.fetch('https://evil.example/' + path).catch(() => {})
      await plugins.http.fetch('https://ungranted.example.org/' + path).catch(() => {})
    }`
  await resultOf(body)
  expect(refused).toEqual(['evil.example not-asked', 'ungranted.example.org not-granted'])
})

test('plugins.http.fetch: a script that requests any number of hosts does not fill the audit log', async () => {
  await resultOf(
    "for (let n = 0; n < 100; n++) await plugins.http.fetch('https://n' + n + '.example/').catch(() => {})",
  )
  expect(refused.length).toBe(10)
})

// --- failures of the request -----------------------------------------------------------------------------------------

test.each([
  ['ERR_OUTBOUND_FAILED', 'the request failed (ENOTFOUND)', 'Error: the request failed (ENOTFOUND)'],
  ['ERR_OUTBOUND_SIZE', 'more than 5 bytes', 'Error: more than 5 bytes (FETCH_SIZE)'],
  ['ERR_OUTBOUND_TIME', 'longer than 5 ms', 'Error: longer than 5 ms (FETCH_TIME)'],
  ['ERR_OUTBOUND_PRIVATE', 'in a private network', 'Error: in a private network'],
] as const)('plugins.http.fetch: the error "%s" reaches the script with its message', async (code, message, text) => {
  answer = () => Promise.reject(new PlatformError(code, message))
  expect(await errorOf("'https://api.example.org/'")).toBe(text)
  expect(refused).toEqual(code === 'ERR_OUTBOUND_PRIVATE' ? ['api.example.org private'] : [])
})

test.each([new Error('host secret'), new PlatformError('ERR_DATABASE_UNREACHABLE', 'host secret')])(
  'plugins.http.fetch: an error in the host reaches the script without details: %s',
  async (error) => {
    answer = () => Promise.reject(error)
    expect(await errorOf("'https://api.example.org/'")).toBe('Error: plugins.http.fetch failed')
  },
)

test('plugins.http.fetch: an uncaught error reports the line that made the request', async () => {
  const { failure } = await run("  const x = 1\n  await plugins.http.fetch('https://evil.example/')", lab, {
    evaluated: false,
  })
  expect(failure?.message).toContain('the manifest does not list evil.example')
  expect(failure?.position).toMatchObject({ file: 'modules/auth/globals.js', line: 3 })
})

test('plugins.http.fetch: a solution’s further requests wait, and fail if none of the others ends', async () => {
  answer = () => new Promise(() => {})
  const body = `plugins.http.fetch('https://api.example.org/')
    try { await plugins.http.fetch('https://api.example.org/') } catch (error) { return String(error) }`
  expect(await resultOf(body, narrow)).toBe(
    'Error: the request was not sent: it waited 200 ms (FETCH_TIME), because only 1 of the solution’s requests can run at the same time (FETCH_AT_ONCE); try again later',
  )
  expect(sent.length).toBe(1)
})

test('plugins.http.fetch: if too many of a solution’s requests are waiting, further ones fail', async () => {
  const own = createHttpLab({ FETCH_AT_ONCE: 1, FETCH_TIME: 200 })
  answer = () => new Promise(() => {})
  const body = `const all = []
    for (let n = 0; n < 10; n++) all.push(plugins.http.fetch('https://api.example.org/').catch(String))
    return all[9]`
  expect(await resultOf(body, own)).toBe(
    'Error: the solution already has 9 HTTP requests in progress or queued, and FETCH_AT_ONCE allows no more; wait for one to finish',
  )
  own.stop()
})

test('plugins.http.fetch: a waiting request starts when another one ends', async () => {
  const own = createHttpLab({ FETCH_AT_ONCE: 1 })
  answer = ({ url }) => answerOf(url)
  const body = `const all = ['a', 'b', 'c'].map((path) => plugins.http.fetch('https://api.example.org/' + path))
    return (await Promise.all(all)).map(({ text }) => text.slice(-1))`
  expect(await resultOf(body, own)).toEqual(['a', 'b', 'c'])
  own.stop()
})

// --- arguments -------------------------------------------------------------------------------------------------------

const URL_TEXT = "'https://api.example.org/'"

test.each([
  ['', 'url must be'],
  ['null', 'url must be'],
  ['{ toString: () => "https://api.example.org/" }', 'url must be'],
  ["'api.example.org'", 'url must be'],
  ["'file:///etc/passwd'", 'url must be'],
  ["'https://' + 'a'.repeat(8192)", 'url must be'],
  [`${URL_TEXT}, 'GET'`, 'init must be an object'],
  [`${URL_TEXT}, []`, 'init must be an object'],
  [`${URL_TEXT}, { redirect: 'follow' }`, 'init has the unknown property redirect'],
  [`${URL_TEXT}, { method: 'CONNECT' }`, 'init.method must be'],
  [`${URL_TEXT}, { method: 5 }`, 'init.method must be'],
  [`${URL_TEXT}, { method: 'GET\\r\\n' }`, 'init.method must be'],
  [`${URL_TEXT}, { headers: 'a: b' }`, 'init.headers must be an object'],
  [`${URL_TEXT}, { headers: [['a', 'b']] }`, 'init.headers must be an object'],
  [`${URL_TEXT}, { headers: { a: 1 } }`, 'the value of "a" must be a string'],
  [`${URL_TEXT}, { headers: Object.fromEntries(Array.from({ length: 65 }, (_, n) => ['x' + n, ''])) }`, 'at most 64'],
  [`${URL_TEXT}, { method: 'POST', body: {} }`, 'init.body must be a string'],
  [`${URL_TEXT}, { body: 'x' }`, 'a GET request cannot have a body'],
])('plugins.http.fetch(%s) causes a TypeError', async (args, message) => {
  const error = await errorOf(args)
  expect(error).toMatch(/^TypeError: plugins\.http\.fetch: /)
  expect(error).toContain(message)
  expect(sent).toEqual([])
})

test('plugins.http.fetch: a getter is read only once', async () => {
  const body = `let reads = 0
    const headers = { get 'x-a'() { return ++reads === 1 ? 'one' : 'two\\r\\nx-evil: 1' } }
    const init = { headers, get method() { return ++reads < 5 ? 'POST' : 'CONNECT' } }
    await plugins.http.fetch('https://api.example.org/', init)
    return reads`
  expect(await resultOf(body)).toBe(2)
  expect(sent[0]?.method).toBe('POST')
})

test('plugins.http.fetch: it works after a script has replaced built-in prototypes', async () => {
  answer = () => answerOf('{"a":1}')
  const body = `JSON.parse = () => 'forged'
    Object.freeze = Object.keys = () => { throw new Error('forged') }
    Array.prototype[Symbol.iterator] = undefined
    RegExp.prototype.exec = () => null
    const answer = await plugins.http.fetch('https://api.example.org/', { headers: { a: 'b' } })
    return answer.json().a`
  const end = await run(`const { stringify } = JSON
    return stringify({ value: await (async () => { ${body} })() })`)
  expect(end.values).toEqual({ value: 1 })
  expect(sent[0]?.headers).toEqual({ a: 'b' })
})

test('plugins.http.fetch: a body over ARGUMENT_SIZE ends the call with script_quota', async () => {
  const { failure } = await run(
    "await plugins.http.fetch('https://api.example.org/', { method: 'POST', body: 'a'.repeat(300_000) })",
  )
  expect(failure).toMatchObject({ code: 'script_quota', limit: { name: 'ARGUMENT_SIZE' } })
})

test('plugins.http.fetch: nothing is sent while scripts are loading', async () => {
  const script = `let failed
    plugins.http.fetch('https://api.example.org/').catch((error) => { failed = error.message })
    function onSolutionOpen() { return JSON.stringify({ failed }) }`
  const { values } = await lab.run({ script })
  expect(values.failed).toContain('plugins.http.fetch can be used only in a function')
  expect(sent).toEqual([])
})

// --- which calls may be retried ------------------------------------------------------------------------------------

test('plugins.http.fetch: only GET and HEAD count as requests that change nothing', () => {
  const { requests } = http(
    { granted: async () => [], send: async () => answerOf(''), onRefused: () => {} },
    createLimits(),
  )
  expect([requests?.fetch?.changes, requests?.send?.changes]).toEqual([false, true])
  expect(() => requests?.fetch?.check(['https://api.example.org/', 'POST', []])).toThrow()
  expect(requests?.fetch?.check(['https://api.example.org/', 'HEAD', []])).toBeTruthy()
})
