import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { NAVIGATION, signInToAdmin } from '../support/admin.ts'
import { openOnce } from '../support/client-page.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

const HOSTILE = '</title><script>alert(1)</script>'
const ESCAPED = '&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;'
/** A loop in native code, which no timeout inside the process can stop. */
const HANGS = 'Array.prototype.indexOf.call(new Proxy({ length: 9007199254740991 }, {}), 1)'
const PATHS = ['', '/versions', '/diff', '/log', '/access', '/api', '/jobs']

let host: TestHost
let admin: Awaited<ReturnType<typeof signInToAdmin>>
/** The two versions of the solution `differs`. */
let from: string
let to: string
beforeAll(async () => {
  host = await startTestHost({ AUTHENTICATOR_TIME: '200ms', LOAD_TIME: '300ms' })
  admin = await signInToAdmin(host)
  await upload('plain', {})
  from = await upload('differs', {}, { 'globals.js': 'let a = 1\n', 'media/old.txt': 'x' })
  to = await upload(
    'differs',
    { version: '2.0.0', http: ['api.example.org'] },
    { 'globals.js': 'let a = 2\n', 'media/new.txt': 'x' },
  )
})
afterAll(() => host.stop())

async function upload(name: string, manifest: object, files: Record<string, string> = {}): Promise<string> {
  const answer = await host.upload(name, await bundleOf({ name, authenticator: 'NONE', ...manifest }, files))
  const body = (await answer.json()) as { sha256: string }
  expect([answer.status, body]).toEqual([201, expect.objectContaining({ name })])
  return body.sha256
}

test('a visitor without a session cannot see any page of a solution; after the sign-in, the browser returns to the page', async () => {
  for (const path of PATHS) {
    const answer = await ask(`${host.adminUrl}/admin/solutions/plain${path}?a=1`, { headers: NAVIGATION })
    const back = encodeURIComponent(`/admin/solutions/plain${path}?a=1`)
    expect([answer.status, answer.headers.location]).toEqual([302, `/admin/sign-in?to=${back}`])
  }
})

test('each page returns 404 for an unknown solution', async () => {
  for (const path of PATHS) expect((await admin.get(`/admin/solutions/nothing${path}`)).status).toBe(404)
})

test('titles, file names and log lines are escaped', async () => {
  await upload('hostile', { title: HOSTILE }, { 'globals.js': 'let a = 1' })
  await upload(
    'hostile',
    { title: HOSTILE, version: '2.0.0', permissions: ['<b>'] },
    { 'globals.js': `function onSolutionOpen() { console.log(${JSON.stringify(HOSTILE.replace('/', '\\/'))}) }` },
  )
  for (const path of ['', ...PATHS.map((one) => `solutions/hostile${one}`)]) {
    const { status, text } = await admin.get(`/admin/${path}`)
    expect([path, status, text.includes(ESCAPED), text.includes('<script>alert')]).toEqual([path, 200, true, false])
  }
  const diff = (await admin.get('/admin/solutions/hostile/diff')).text
  expect(diff).toContain('[&quot;&lt;b&gt;&quot;]')
  const filtered = (await admin.get(`/admin/solutions/hostile/log?text=${encodeURIComponent('"><script>')}`)).text
  expect(filtered).toContain('value="&quot;&gt;&lt;script&gt;"')
})

test('the URL of a solution contains the main port, and the host name of the current request', async () => {
  const { port } = new URL(host.url)
  expect((await admin.get('/admin/solutions/plain')).text).toContain(`href="http://127.0.0.1:${port}/solution/plain/"`)
})

test('overview: it shows the active version and the number of versions, and says if there are no sign-ins or errors', async () => {
  const text = (await admin.get('/admin/solutions/differs')).text.replaceAll(/\s+/g, ' ')
  expect(text).toContain(`<dt>Active version</dt><dd><bdi>2.0.0</bdi> <code title="${to}">`)
  expect(text).toContain('<dt>Stored versions</dt><dd>2</dd>')
  expect(text).toContain('The log has no errors from the last hour.')
  expect(text).toContain('users open this solution without signing in')
  expect(text.indexOf('id="danger"')).toBeGreaterThan(text.indexOf('id="sign-ins"'))
})

test('overview: it counts the errors in the last hour, shows the newest five, and links to them in the log', async () => {
  await upload('fails', {}, { 'globals.js': 'function onSolutionOpen() { missing() }' })
  for (let i = 0; i < 6; i++) await openOnce(host.url, 'fails', createVisitor(host.url))
  const { text } = await admin.get('/admin/solutions/fails')
  expect(text).toContain('>6 errors<')
  expect(text.match(/missing is not defined/g)).toHaveLength(5)
  expect(text).toContain('href="/admin/solutions/fails/log?level=error"')
})

test('overview: it shows the latest sign-ins with their outcome, and links to them in the audit log', async () => {
  await upload(
    'signed',
    { authenticator: 'AUTHENTICATOR', modules: ['auth'] },
    {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': `function onSolutionOpen(arg, { username, password }) {
        if (password === 'right') security.login(username, 'u-1', ['Users'])
      }`,
    },
  )
  expect((await admin.get('/admin/solutions/signed')).text).toContain(
    'No sign-ins yet. They appear here when users sign in to this solution.',
  )
  for (const password of ['right', 'wrong']) {
    const visitor = createVisitor(host.url)
    await visitor.get('/solution/signed/index.html')
    await visitor.post('/solution/signed/index.html', { username: '<anna>', password })
  }
  const { text } = await admin.get('/admin/solutions/signed')
  expect(text.match(/<bdi>&lt;anna&gt;<\/bdi>/g)).toHaveLength(2)
  expect(text.indexOf('>refused<')).toBeLessThan(text.indexOf('>ok<'))
  expect(text).toContain('href="/admin/audit?solution=signed&amp;action=sign-in"')
})

test('the OAuth tab is shown for solutions that use OAuth; other solutions link to instructions for switching', async () => {
  const tab = (name: string) => `<a href="/admin/solutions/${name}/oauth">OAuth</a>`
  expect((await admin.get('/admin/solutions/plain/log')).text).not.toContain(tab('plain'))
  expect((await admin.get('/admin/solutions/plain')).text).toContain(
    '<a href="/admin/solutions/plain/oauth">Set up sign-in with a provider</a>',
  )
  await upload(
    'provided',
    { authenticator: 'OAUTH', modules: ['auth'] },
    { ...moduleFile('auth', { type: 'authenticator' }), 'modules/auth/globals.js': 'function onSolutionOpen() {}' },
  )
  expect((await admin.get('/admin/solutions/provided/log')).text).toContain(tab('provided'))
})

test('versions: the newest version is first, the active one is marked, and an older one can be activated', async () => {
  const { text } = await admin.get('/admin/solutions/differs/versions')
  expect(text.indexOf(`title="${to}"`)).toBeLessThan(text.indexOf(`title="${from}"`))
  expect(text).toContain('Roll back')
  expect(text).toContain(`diff?from=${from}&amp;to=${to}`)
  expect(text).toContain(`/admin/api/solutions/differs/versions/${from}/bundle`)
})

test('difference: it shows changed lines with + and -, added and removed files, and access changes in the manifest', async () => {
  const { text } = await admin.get(`/admin/solutions/differs/diff?from=${from}&to=${to}`)
  expect(text).toContain('<div class="diff-line diff-minus">-let a = 1</div>')
  expect(text).toContain('<div class="diff-line diff-plus">+let a = 2</div>')
  expect(text).toMatch(/media\/new\.txt.*?Added.*media\/old\.txt.*?Removed/s)
  expect(text).toContain('<code>[&quot;api.example.org&quot;]</code>')
  const same = (await admin.get(`/admin/solutions/differs/diff?from=${to}&to=${to}`)).text
  expect(same).toContain('Both versions contain the same files.')
  expect((await admin.get(`/admin/solutions/differs/diff?from=${'a'.repeat(64)}&to=${to}`)).status).toBe(404)
})

test('difference: if there is only one version, the page says that it needs two', async () => {
  expect((await admin.get('/admin/solutions/plain/diff')).text).toContain('This solution has only one version.')
})

test('log: lines can be filtered by level, text, code and reference; older lines are on the next page', async () => {
  const script = `function onSolutionOpen() {
    for (let i = 0; i < 120; i++) console.log('line ' + i + '.')
    console.warn('careful')
    missing()
  }`
  await upload('logs', {}, { 'globals.js': script })
  await openOnce(host.url, 'logs', createVisitor(host.url))
  const page = async (query: string) => (await admin.get(`/admin/solutions/logs/log${query}`)).text
  const newest = await page('')
  expect([newest.includes('missing is not defined'), newest.includes('line 0.')]).toEqual([true, false])
  const older = /href="([^"]*before=\d+)"/.exec(newest)?.[1] ?? ''
  const before = (await admin.get(older.replaceAll('&amp;', '&'))).text
  expect([before.includes('line 0.'), before.includes('missing'), before.includes('data-log=')]).toEqual([
    true,
    false,
    false,
  ])
  const warnings = await page('?level=warn')
  expect([warnings.includes('careful'), warnings.includes('line 119.')]).toEqual([true, false])
  expect(await page('?text=LINE%207.')).toContain('line 7.')
  expect(await page('?code=script_error')).toContain('missing is not defined')
  const reference = /correlationId=([\w-]+)"/.exec(newest)?.[1]
  expect(await page(`?correlationId=${reference}`)).toContain('missing is not defined')
  expect(await page('?correlationId=none')).toContain('No log lines match the filter.')
  expect(await page('?level=nonsense')).toContain('missing is not defined')
})

test('access: the page shows requested and granted access, warnings, and missing secrets', async () => {
  await upload(
    'asks',
    {
      authenticator: 'OAUTH',
      modules: ['auth'],
      databases: { crm: { server: 'alpha', database: 'crm_live' }, own: { server: 'embedded' } },
      http: ['api.example.org'],
      oauth: { api: 'Google', clientId: 'x', apiSecret: '%%CLIENT_SECRET%%' },
    },
    { ...moduleFile('auth', { type: 'authenticator' }), 'modules/auth/globals.js': 'function onSolutionOpen() {}' },
  )
  const before = (await admin.get('/admin/solutions/asks/access')).text
  expect(before).toContain('crm_live on alpha')
  expect(before).toContain('No grant needed.')
  expect(before).toContain('Not set, but used in the manifest')
  await admin.api('PUT', 'solutions/asks/grants', {
    databases: { crm: { server: 'alpha', database: 'crm_live' }, more: { server: 'beta', database: 'x' } },
    http: [],
    users: true,
  })
  await admin.api('PUT', 'solutions/asks/secrets/CLIENT_SECRET', {
    value: 'a secret value',
    hosts: ['oauth2.googleapis.com'],
  })
  const after = (await admin.get('/admin/solutions/asks/access')).text
  expect(after).toContain('Account from DB_ALPHA_USERNAME')
  expect(after).toContain('manifests don’t request the database &quot;more&quot;')
  expect(after).toContain('This solution’s scripts can use this host’s users table.')
  expect(after).toContain('oauth2.googleapis.com')
  expect(after).not.toContain('a secret value')
})

test('a paused solution’s page shows when the pause ends, why, the last errors, and what to do', async () => {
  await upload(
    'paused',
    { authenticator: 'AUTHENTICATOR', modules: ['auth'] },
    {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': `function onSolutionOpen() { ${HANGS} }`,
    },
  )
  const visitor = createVisitor(host.url)
  await visitor.get('/solution/paused/index.html')
  const text = await waitUntil(
    async () => {
      await visitor.post('/solution/paused/index.html', { username: 'a', password: 'b' })
      const page = (await admin.get('/admin/solutions/paused')).text
      expect(page).toContain('Paused until ')
      return page
    },
    { interval: 10 },
  )
  expect(text).toContain('its scripts are paused for ')
  expect(text).toContain('roll back to one that worked')
  for (const path of ['', '/versions', '/log', '/access', '/login-page', '/oauth']) {
    const { text: page } = await admin.get(`/admin/solutions/paused${path}`)
    expect([path, page.includes('>Paused<')]).toEqual([path, true])
  }
})

test('the API tab lists the endpoints with their URL, callers and missing secrets', async () => {
  const signature = { scheme: 'github', secret: 'HOOK' }
  const endpoints = {
    'GET /orders/{id}': { function: 'read', authentication: ['token'], permission: HOSTILE },
    'POST /hook': { function: 'read', authentication: 'signature', signature },
  }
  await upload('called', { endpoints }, { 'globals.js': 'function read() {}' })
  const { text } = await admin.get('/admin/solutions/called/api')
  for (const part of ['GET /orders/{id}', 'API tokens', 'Secret: HOOK', '/solution/called/api', ESCAPED]) {
    expect(text).toContain(part)
  }
  expect((await admin.get('/admin/solutions/called/access')).text).toContain('<code>HOOK</code>')
  expect((await admin.get('/admin/solutions/plain/api')).text).toContain('The active version has no endpoints.')
})

test('the Jobs tab lists jobs with their next times, and runs with their actions', async () => {
  const jobs = {
    nightly: { function: 'work', schedule: '30 2 * * *', timeZone: 'Europe/Brussels' },
    fails: { function: 'fails', attempts: 1 },
  }
  await upload(
    'works',
    { jobs },
    { 'globals.js': `function work() {}; function fails() { throw new Error('${HOSTILE}') }` },
  )
  expect((await admin.get('/admin/solutions/works/jobs')).text).toContain('No runs yet.')
  const headers = { authorization: host.admin, 'content-type': 'application/json' }
  await ask(`${host.url}/admin/api/solutions/works/jobs/fails/run`, { method: 'POST', headers, body: '{}' })
  await waitUntil(async () => {
    const { text } = await admin.get('/admin/solutions/works/jobs')
    for (const part of ['Europe/Brussels', ' 02:30', 'script_error', 'Run again', 'Run now', 'Pause jobs']) {
      expect(text).toContain(part)
    }
  })
  await ask(`${host.url}/admin/api/solutions/works/jobs`, { method: 'PUT', headers, body: '{"paused":true}' })
  const { text } = await admin.get('/admin/solutions/works/jobs?state=succeeded')
  expect(text).toContain('This solution’s jobs are paused')
  expect(text).toContain('No run matches the filter.')
})

test('an unknown version returns 404, with a page that says so', async () => {
  const { status, text } = await admin.get(`/admin/solutions/differs/diff?from=${from}&to=${'0'.repeat(64)}`)
  expect([status, /<h1>(.*)<\/h1>/.exec(text)?.[1]]).toEqual([404, 'Page not found'])
})

test('log: the stream ends when the page’s session or the token expires', async () => {
  const page = await signInToAdmin(host)
  const { id, token } = (
    await admin.api('POST', 'tokens', { name: 'reader', scopes: ['solutions:plain:read'] })
  ).json() as { id: string; token: string }
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const streams = await Promise.all([
      follow(host.adminUrl, { cookie: page.cookie, 'x-csrf-token': page.csrfToken }),
      follow(host.url, { authorization: `Bearer ${token}` }),
      follow(host.url, { authorization: host.admin }),
    ])
    vi.advanceTimersByTime(15_000)
    for (const { lines } of streams) await waitUntil(() => expect(lines()).toContain(': keep-alive'))
    await ask(`${host.adminUrl}/admin/sign-out`, {
      method: 'POST',
      headers: { ...NAVIGATION, cookie: page.cookie, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ csrf_token: page.csrfToken }).toString(),
    })
    await admin.api('DELETE', `tokens/${id}`)
    vi.advanceTimersByTime(15_000)
    await waitUntil(() => expect(streams.map(({ hasEnded }) => hasEnded())).toEqual([true, true, false]))
    for (const { leave } of streams) leave()
  } finally {
    vi.useRealTimers()
  }
})

test('log: when the host stops, it ends the streams cleanly before it closes connections', async () => {
  const own = await startTestHost()
  await own.upload('plain', await bundleOf({ name: 'plain', authenticator: 'NONE' }, {}))
  const stream = await follow(own.url, { authorization: own.admin })
  await waitUntil(() => expect(stream.lines()).toContain(': new log lines follow'))
  await own.stop()
  // This succeeds only if the host ended the response properly instead of cutting the connection.
  await waitUntil(() => expect(stream.hasEnded()).toBe(true))
})

async function follow(url: string, given: Record<string, string>) {
  const stop = new AbortController()
  const headers = { ...given, accept: 'text/event-stream' }
  const stream = await fetch(`${url}/admin/api/solutions/plain/log`, { headers, signal: stop.signal })
  let text = ''
  let hasEnded = false
  async function read(): Promise<void> {
    for await (const part of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) text += part
    hasEnded = true
  }
  read().catch(() => {})
  return { lines: () => text.split('\n'), hasEnded: () => hasEnded, leave: () => stop.abort() }
}
