import { afterAll, beforeAll, expect, test } from 'vitest'
import { openOnce } from '../support/client-page.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { bundleOf, moduleFile, zipOf } from '../support/zip.ts'

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
})
afterAll(() => host.stop())

const manifest = (extra: object = {}) => ({ name: 'crm', authenticator: 'NONE', ...extra })
const api = (path: string, options: Parameters<typeof ask>[1] = {}) =>
  ask(`${host.url}/admin/api${path}`, { ...options, headers: { authorization: host.admin, ...options.headers } })
const put = (name: string, body: Uint8Array, type = 'application/zip') =>
  api(`/solutions/${name}`, { method: 'PUT', headers: { 'content-type': type }, body })

test('upload: a new bundle returns 201, the same bundle again 200, and the version is its SHA-256', async () => {
  const bundle = await bundleOf(manifest(), { 'globals.js': 'function onSolutionOpen() {}' })
  const first = await put('crm', bundle)
  expect([first.status, first.headers.location]).toEqual([201, '/admin/api/solutions/crm'])
  const uploaded = first.json() as { sha256: string }
  expect(uploaded).toEqual({ name: 'crm', version: '1.0.0', sha256: expect.any(String), active: true, warnings: [] })
  expect((await put('crm', bundle)).status).toBe(200)
  const one = (await api('/solutions/crm')).json()
  expect(one).toEqual({
    name: 'crm',
    title: 'crm',
    type: 'solution',
    authenticator: 'NONE',
    active: uploaded.sha256,
    state: 'active',
    versions: [{ sha256: uploaded.sha256, version: '1.0.0', uploadedAt: expect.any(Number), bytes: bundle.length }],
  })
})

test('activate: switches back to an older version, and keeps both versions', async () => {
  const old = (await (await put('roll', await bundleOf({ name: 'roll', authenticator: 'NONE' }))).json()) as {
    sha256: string
  }
  const next = await put('roll', await bundleOf({ name: 'roll', authenticator: 'NONE', version: '2.0.0' }))
  expect((next.json() as { version: string }).version).toBe('2.0.0')
  const body = JSON.stringify({ sha256: old.sha256 })
  const json = { 'content-type': 'application/json' }
  const back = await api('/solutions/roll/activate', { method: 'POST', headers: json, body })
  expect(back.json()).toMatchObject({ active: old.sha256, state: 'active' })
  expect((await api('/solutions/roll')).json()).toMatchObject({ active: old.sha256, versions: [{}, {}] })
})

test('activate: an unknown version returns 404, an invalid body 422 with the reason, a wrong content type 415', async () => {
  await put('crm', await bundleOf(manifest()))
  const post = (body: string, type = 'application/json') =>
    api('/solutions/crm/activate', { method: 'POST', headers: { 'content-type': type }, body })
  expect((await post(JSON.stringify({ sha256: 'a'.repeat(64) }))).json()).toMatchObject({
    status: 404,
    code: 'ERR_VERSION_NOT_FOUND',
  })
  const wrong = (await post('{"sha256":"x"}')).json() as { code: string; detail: string }
  expect(wrong.code).toBe('ERR_REQUEST_INVALID')
  expect(wrong.detail).toContain('64 lowercase hexadecimal digits')
  expect((await post('{}', 'text/plain')).status).toBe(415)
  expect((await post('no json')).json()).toMatchObject({ status: 400, code: 'ERR_BAD_REQUEST' })
})

test('delete: the solution is no longer available to anyone, and uploading it restores it', async () => {
  const bundle = await bundleOf({ name: 'gone', authenticator: 'NONE' })
  await put('gone', bundle)
  expect((await api('/solutions/gone', { method: 'DELETE' })).status).toBe(204)
  expect((await api('/solutions/gone')).status).toBe(404)
  expect((await ask(`${host.url}/solution/gone/index.html`)).status).toBe(404)
  expect((await api('/solutions/gone', { method: 'DELETE' })).status).toBe(404)
  expect((await put('gone', bundle)).status).toBe(200)
  expect((await ask(`${host.url}/solution/gone/index.html`)).status).toBe(200)
})

test('list: it contains every solution, without its versions', async () => {
  await put('crm', await bundleOf(manifest()))
  const { items } = (await api('/solutions')).json() as { items: { name: string }[] }
  expect(items.find(({ name }) => name === 'crm')).toEqual({
    name: 'crm',
    title: 'crm',
    type: 'solution',
    authenticator: 'NONE',
    active: expect.stringMatching(/^[0-9a-f]{64}$/),
    state: 'active',
  })
})

test('log: script lines have a level, position and correlation id, and are listed in pages, newest last', async () => {
  const script =
    "function onSolutionOpen(arg) {\n  application.output('opened with ' + arg, 'warning')\n  if (arg === 'bad') missing()\n}"
  await put('logs', await bundleOf({ name: 'logs', authenticator: 'NONE' }, { 'globals.js': script }))
  await openOnce(host.url, 'logs', createVisitor(host.url), '?argument=one')
  const failed = await openOnce(host.url, 'logs', createVisitor(host.url), '?argument=bad')
  const { text } = await failed.frame('message')
  const { items } = (await api('/solutions/logs/log')).json() as { items: object[] }
  expect(items).toEqual([
    expect.objectContaining({ level: 'warn', message: 'opened with one', file: 'globals.js', line: 2, column: 15 }),
    expect.objectContaining({ message: 'opened with bad' }),
    {
      time: expect.any(Number),
      level: 'error',
      code: 'script_error',
      message: 'ReferenceError: missing is not defined',
      file: 'globals.js',
      line: 3,
      column: 22,
      correlationId: expect.stringMatching(/^[0-9A-Z-]{11}$/),
    },
  ])
  expect(text).toContain((items[2] as { correlationId: string }).correlationId)
  const page = (await api('/solutions/logs/log?limit=1')).json() as { items: object[]; next: string }
  expect(page.items).toEqual([items[2]])
  expect((await api(`/solutions/logs/log?limit=2&before=${page.next}`)).json()).toMatchObject({
    items: [items[0], items[1]],
  })
  expect((await api('/solutions/logs/log?limit=0')).status).toBe(422)
})

test('log: a request for text/event-stream gets new lines as they are written', async () => {
  await put(
    'follow',
    await bundleOf(
      { name: 'follow', authenticator: 'NONE' },
      { 'globals.js': "function onSolutionOpen() { console.log('seen') }" },
    ),
  )
  const headers = { authorization: host.admin, accept: 'text/event-stream' }
  const { body } = await fetch(`${host.url}/admin/api/solutions/follow/log`, { headers })
  await openOnce(host.url, 'follow', createVisitor(host.url))
  let text = ''
  for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part
    if (text.includes('"seen"')) break
  }
  expect(text).toMatch(/data: \{"time":\d+,"level":"info","message":"seen"/)
})

test('log: the admin account can have 30 streams; the next one is rejected until another one ends', async () => {
  await put('streams', await bundleOf({ name: 'streams', authenticator: 'NONE' }))
  const follow = (signal: AbortSignal | null = null) =>
    fetch(`${host.url}/admin/api/solutions/streams/log`, {
      headers: { authorization: host.admin, accept: 'text/event-stream' },
      signal,
    })
  const [first, others] = [new AbortController(), new AbortController()]
  // Keep the responses, because `fetch` closes the connection of a response that is garbage-collected.
  const open = [await follow(first.signal)]
  for (let one = 1; one < 30; one++) open.push(await follow(others.signal))
  expect(open.map(({ status }) => status)).toEqual(Array(30).fill(200))
  const refused = await follow()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '30'])
  expect(await refused.json()).toMatchObject({
    code: 'ERR_THROTTLED',
    detail: expect.stringMatching(/^You are already following 30 logs.* Close a log page/),
  })
  first.abort()
  await expect.poll(async () => (await follow(others.signal)).status).toBe(200)
  others.abort()
})

test('the API rejects requests without credentials, with wrong credentials and from browser pages', async () => {
  const none = await ask(`${host.url}/admin/api/solutions`)
  expect([none.status, none.headers['www-authenticate']]).toEqual([401, 'Bearer realm="solhost"'])
  expect(none.json()).toMatchObject({ code: 'ERR_UNAUTHENTICATED' })
  const cookie = await ask(`${host.url}/admin/api/solutions`, { headers: { cookie: `session=${host.admin}` } })
  expect(cookie.status).toBe(401)
  const page = await api('/solutions', { headers: { 'sec-fetch-site': 'same-origin' } })
  expect(page.json()).toMatchObject({ status: 403, code: 'ERR_BROWSER_CREDENTIALS' })
})

test('failed admin sign-ins are throttled before the password is checked; cached credentials still work', async () => {
  const own = await startTestHost({ ADMIN_FAILURES: '3' })
  const askAs = (authorization: string) => ask(`${own.url}/admin/api/solutions`, { headers: { authorization } })
  const wrong = `Basic ${Buffer.from('admin:wrong').toString('base64')}`
  expect((await askAs(own.admin)).status).toBe(200)
  const answers = await Promise.all(Array.from({ length: 6 }, () => askAs(wrong)))
  expect(answers.map(({ status }) => status).sort()).toEqual([401, 401, 401, 429, 429, 429])
  expect(Number(answers.find(({ status }) => status === 429)?.headers['retry-after'])).toBeGreaterThan(0)
  expect((await askAs(own.admin)).status).toBe(200)
  await own.stop()
})

test('the API is also available on the admin port, and is not in the list of solutions', async () => {
  const answer = await ask(`${host.adminUrl}/admin/api/solutions`, { headers: { authorization: host.admin } })
  expect(answer.status).toBe(200)
})

test('OpenAPI: the description is served', async () => {
  const document = (await api('/openapi.json')).json() as { openapi: string; paths: object }
  expect(document.openapi).toBe('3.1.0')
  expect(Object.keys(document.paths)).toContain('/admin/api/solutions/{name}')
})

test('invalid bundles: one response lists every error, and the active version stays active', async () => {
  const good = await bundleOf({ name: 'bad', authenticator: 'NONE' })
  const { sha256 } = (await put('bad', good)).json() as { sha256: string }
  const bad = await bundleOf(
    { name: 'bad', authenticator: 'AUTHENTICATOR', modules: ['auth'], version: '2.0.0' },
    {
      'globals.js': 'function one( {',
      'scopes/a.js': 'function twice() {}',
      'scopes/b.ts': 'function twice(): number { return 1 }',
      'scopes/d.js': 'function other() { return twice() }',
      'scopes/c.ts': 'enum Kind { A }',
      'i18n/nl.json': '{"a": 5}',
      'i18n/de.json': '{"a": "x", "a": "y"}',
      ...moduleFile('auth', { type: 'authenticator' }),
    },
  )
  const refused = await put('bad', bad)
  expect([refused.status, refused.headers['content-type']]).toEqual([422, 'application/problem+json'])
  const problem = refused.json() as { code: string; faults: { file: string; code: string; line?: number }[] }
  expect(problem.code).toBe('ERR_BUNDLE_REFUSED')
  expect(problem.faults.map(({ file, code }) => `${file} ${code}`).sort()).toEqual([
    'globals.js script_syntax',
    'i18n/de.json json_invalid',
    'i18n/nl.json i18n_invalid',
    'scopes/c.ts script_syntax',
    'scopes/d.js name_twice',
  ])
  expect(problem.faults.find(({ file }) => file === 'globals.js')?.line).toBe(1)
  expect((await api('/solutions/bad')).json()).toMatchObject({ active: sha256, versions: [{ sha256 }] })
})

const auth = (script: string) => ({
  ...moduleFile('auth', { type: 'authenticator' }),
  'modules/auth/globals.js': script,
})
test.each([
  ['throws while it loads', 'boom()', 'script_load'],
  ['loops while it loads', 'for (;;);', 'script_timeout'],
  [
    'fills the heap while it loads',
    'const a = []; for (;;) a.push(new Array(1e5).fill({}))',
    /script_memory|script_crashed|script_timeout/,
  ],
  [
    'crashes the process while it loads',
    "String('ab'.repeat(1.5e8).split('').length)",
    /script_crashed|script_memory|script_timeout/,
  ],
  ['has no entry function', 'function other() {}', 'entry_missing'],
])('a solution whose script %s never becomes active', async (_case, script, code) => {
  const refused = await put(
    'never',
    await bundleOf({ name: 'never', authenticator: 'AUTHENTICATOR', modules: ['auth'] }, auth(script)),
  )
  expect(refused.status).toBe(422)
  expect((refused.json() as { faults: { code: string }[] }).faults[0]?.code).toEqual(
    typeof code === 'string' ? code : expect.stringMatching(code),
  )
  expect((await api('/solutions/never')).status).toBe(404)
  expect((await ask(`${host.url}/solution/never/index.html`)).status).toBe(404)
})

test('uploading 200 kB of nested source that crashes the type stripper fails, and the host keeps running', async () => {
  const nested = `const x = ${'('.repeat(100_000)}1${')'.repeat(100_000)}`
  const refused = await put('deep', await bundleOf({ name: 'deep', authenticator: 'NONE' }, { 'globals.ts': nested }))
  expect(refused.status).toBe(422)
  expect((await api('/solutions')).status).toBe(200)
})

test('TypeScript: types are removed, and error positions stay correct', async () => {
  const script = 'type Arg = string | null\nfunction onSolutionOpen(arg: Arg): void {\n  missing()\n}'
  expect(
    (await put('typed', await bundleOf({ name: 'typed', authenticator: 'NONE' }, { 'globals.ts': script }))).status,
  ).toBe(201)
  await openOnce(host.url, 'typed', createVisitor(host.url))
  const { items } = (await api('/solutions/typed/log')).json() as { items: object[] }
  expect(items).toEqual([expect.objectContaining({ file: 'globals.ts', line: 3, column: 3 })])
})

test.each([
  ['a name that differs from the URL', 'other', () => bundleOf(manifest()), 409, 'ERR_NAME_DIFFERS'],
  ['a file that is not a zip', 'crm', async () => Buffer.from('hello'), 422, 'ERR_BUNDLE_REFUSED'],
  ['a bundle that is too large', 'crm', async () => Buffer.alloc(10 * 1024 ** 2 + 1), 413, 'ERR_BODY_TOO_LARGE'],
  [
    'a zip bomb',
    'crm',
    () => zipOf({ 'solution.json': '{}', 'media/a': Buffer.alloc(51 * 1024 ** 2) }),
    413,
    'ERR_BUNDLE_TOO_LARGE',
  ],
])('upload: %s is rejected', async (_case, name, make, status, code) => {
  const refused = await put(name, await make())
  expect([refused.status, (refused.json() as { code: string }).code]).toEqual([status, code])
})

test('upload: another content type returns 415, an unsupported method 405 with the allowed methods', async () => {
  expect((await put('crm', await bundleOf(manifest()), 'application/json')).status).toBe(415)
  const answer = await api('/solutions/crm', { method: 'PATCH' })
  expect([answer.status, answer.headers.allow]).toEqual([405, 'HEAD, GET, PUT, DELETE'])
  expect((await api('/nothing')).json()).toMatchObject({ status: 404, code: 'ERR_NOT_FOUND' })
})

test('two simultaneous uploads of one solution are both stored, and one of them is active', async () => {
  const versions = await Promise.all(
    ['1.0.0', '2.0.0', '3.0.0'].map((version) => bundleOf({ name: 'race', authenticator: 'NONE', version })),
  )
  const answers = await Promise.all(versions.map((bundle) => put('race', bundle)))
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
  const one = (await api('/solutions/race')).json() as { active: string; versions: { sha256: string }[] }
  expect(one.versions.map(({ sha256 }) => sha256)).toContain(one.active)
  expect(one.versions).toHaveLength(3)
})

test('a solution named error works, and names and values in a URL cannot crash the host', async () => {
  const script = 'function onSolutionOpen(arg, q) { console.log(q.name) }'
  await put('error', await bundleOf({ name: 'error', authenticator: 'NONE' }, { 'globals.js': script }))
  const long = 'a'.repeat(3000)
  const query = `?name=aaaaaa&custom_${long}=a&custom_${long}b=a&custom_%24%26=aa`
  expect((await ask(`${host.url}/solution/error/index.html${query}`)).status).toBe(200)
  await openOnce(host.url, 'error', createVisitor(host.url), query)
  const { items } = (await api('/solutions/error/log')).json() as { items: { message: string }[] }
  expect(items.at(-1)?.message.length).toBeLessThan(1000)
})

test('the API cannot be reached with another spelling of its path, on either port', async () => {
  for (const base of [host.url, host.adminUrl]) {
    for (const path of [
      '/Admin/api/solutions',
      '/ADMIN/API/solutions',
      '/admin/api/../api/solutions',
      '/admin//api/solutions',
      '//admin/api/solutions',
    ]) {
      const answer = await ask(base, { headers: { accept: 'application/json' }, path })
      expect([path, [401, 404].includes(answer.status)]).toEqual([path, true])
    }
    const absolute = await ask(base, { path: `${base}/Admin/api/solutions` })
    expect([401, 404]).toContain(absolute.status)
  }
})
