import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LAUNCHER, runCli, runCliProcess, startCli, temporaryFolder, writeFiles } from '../support/cli.ts'
import { openClient } from '../support/client-page.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { waitUntil } from '../support/wait-until.ts'

// Tests the command line with a real host.

const ADMIN = { SOLHOST_PASSWORD: 'test admin password' }

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
})
afterAll(() => host.stop())

async function createToken(...scopes: string[]): Promise<string> {
  const answer = await fetch(`${host.url}/admin/api/tokens`, {
    method: 'POST',
    headers: { authorization: host.admin, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'a test', scopes }),
  })
  return ((await answer.json()) as { token: string }).token
}

/** The folder of a new solution with that name, created by `solhost init`. */
async function newSolution(name: string) {
  const folder = temporaryFolder()
  expect((await runCli(['init', name], { cwd: folder.path })).code).toBe(0)
  return folder
}

const until = (what: () => boolean) => waitUntil(() => expect(what()).toBe(true), { interval: 50 })

test('init, check, pack, deploy and logs work with a token for a single solution', async () => {
  using folder = await newSolution('shop')
  const options = { cwd: folder.path, env: { SOLHOST_TOKEN: await createToken('solutions:shop:write') } }
  expect((await runCli(['check', 'shop'], options)).code).toBe(0)
  const { sha256 } = JSON.parse((await runCli(['pack', 'shop', '--json'], options)).out) as { sha256: string }
  const deployed = await runCliProcess(['deploy', 'shop', host.url], options)
  expect(deployed).toEqual({
    code: 0,
    err: '',
    out: `shop 1.0.0 is active: the first version of this solution on the host.
  sha256    ${sha256}
  address   ${host.url}/solution/shop/
  0 errors, 0 warnings
Next: open the address. To follow the solution’s log, run:
  solhost logs shop ${host.url} -f
`,
  })

  const visitor = createVisitor(host.url)
  expect((await visitor.get('/solution/shop/index.html?name=Ada')).status).toBe(200)
  const page = await openClient(host.url, 'shop', visitor, { query: '?name=Ada' })
  expect(page.words()).toContain('Enter your name and press the button.')
  await page.press('welcome', 'greet')
  expect(page.text('welcome', 'answer')).toBe('Hello, Ada!')
  page.close()

  const logs = await runCliProcess(['logs', 'shop', host.url], options)
  expect(logs.out).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z info {2}globals\.js:9:15 {2}greeted Ada \(\S+\)\n$/)
  expect(logs.err).toBe(`Next: solhost logs shop ${host.url} -f\n`)

  const again = await runCli(['deploy', 'shop', host.url], options)
  expect(again.out).toContain('this version was already active, so nothing changed.\n')
  const manifest = readFileSync(join(folder.path, 'shop/solution.json'), 'utf8')
  writeFiles(folder.path, { 'shop/solution.json': manifest.replace('1.0.0', '1.1.0'), 'shop/odd.txt': 'x' })
  const newer = await runCli(['deploy', 'shop', host.url], options)
  expect(newer.out).toContain('odd.txt  warning file_unused  ')
  expect(newer.out).toContain(`shop 1.1.0 is active: a new version, replacing 1.0.0 (sha256 ${sha256.slice(0, 12)}…).`)
  writeFiles(folder.path, { 'shop/solution.json': manifest })
  const json = JSON.parse((await runCli(['deploy', 'shop', host.url, '--json'], options)).out) as object
  expect(json).toMatchObject({
    ok: true,
    name: 'shop',
    new: true,
    before: { version: '1.1.0' },
    warnings: [{ file: 'odd.txt' }],
  })
})

test('pull and deploy don’t overwrite what someone else activated, or changes that were never deployed', async () => {
  using folder = await newSolution('shared')
  using other = temporaryFolder()
  const env = { SOLHOST_TOKEN: await createToken('solutions:shared:write') }
  const mine = (...words: string[]) => runCli(words, { cwd: folder.path, env })
  const theirs = (...words: string[]) => runCli(words, { cwd: other.path, env })
  const change = (place: string, text: string) => writeFiles(place, { 'shared/media/note.txt': text })
  expect((await mine('deploy', 'shared', host.url)).code).toBe(0)

  const pulled = await theirs('pull', 'shared', host.url)
  expect(pulled).toMatchObject({ code: 0, err: '' })
  expect(pulled.out).toMatch(/^Downloaded shared 1\.0\.0 to shared: \d+ files\.\nNext: solhost dev shared\n$/)
  expect(readFileSync(join(other.path, 'shared/solution.json'), 'utf8')).toBe(
    readFileSync(join(folder.path, 'shared/solution.json'), 'utf8'),
  )
  expect((await theirs('check', 'shared')).code).toBe(0)
  change(other.path, 'theirs')
  expect((await theirs('deploy', 'shared', host.url)).code).toBe(0)

  change(folder.path, 'mine')
  const late = await mine('deploy', 'shared', host.url)
  expect(late.code).toBe(1)
  expect(late.err).toMatch(
    /active on the host +1\.0\.0 \(sha256 [0-9a-f]{12}…\), activated \d{4}-\d\d-\d\dT\d\d:\d\d UTC by token:/,
  )
  expect(late.err).toContain(`solhost pull shared ${host.url} shared-active\n`)
  expect(JSON.parse((await mine('deploy', 'shared', host.url, '--json')).out)).toMatchObject({
    ok: false,
    code: 'ERR_CHANGED_MEANWHILE',
    version: '1.0.0',
  })
  const unsaved = await mine('pull', 'shared', host.url)
  expect(unsaved.code).toBe(1)
  expect(unsaved.err).toContain('These files differ:\n  media/note.txt\n')
  expect(readFileSync(join(folder.path, 'shared/media/note.txt'), 'utf8')).toBe('mine')

  expect((await mine('deploy', 'shared', host.url, '--over')).code).toBe(0)
  const back = await theirs('pull', 'shared', host.url)
  expect(back.code).toBe(0)
  expect(readFileSync(join(other.path, 'shared/media/note.txt'), 'utf8')).toBe('mine')
  expect((await theirs('deploy', 'shared', host.url)).out).toContain('this version was already active')
})

test('pull: other folders and missing versions are refused, and nothing is written', async () => {
  using folder = await newSolution('crm')
  writeFiles(folder.path, { 'full/notes.txt': 'x' })
  const pull = (...words: string[]) => runCli(['pull', ...words], { cwd: folder.path, env: ADMIN })
  const user = ['--user', 'admin']
  expect((await pull('shop', host.url, 'crm', ...user)).err).toContain('contains another solution ("crm")')
  expect((await pull('shop', host.url, 'full', ...user)).err).toContain('is not empty and contains no solution.json')
  expect((await pull('nothing', host.url, ...user)).err).toContain('There is no solution "nothing"')
  expect(existsSync(join(folder.path, 'nothing'))).toBe(false)
})

test('deploy: each host error is explained, with what to do and its own exit code', async () => {
  using folder = await newSolution('crm')
  const deploy = (env: Record<string, string>, ...words: string[]) =>
    runCli(['deploy', 'crm', host.url, ...words], { cwd: folder.path, env })
  expect(await deploy({ SOLHOST_TOKEN: 'sol_x' })).toEqual({
    code: 4,
    out: '',
    err: `The host did not accept the token or password: The API token is unknown, revoked or expired. Use another token.
Next: check it, or ask the operator for a new one.
`,
  })
  expect(await deploy({ SOLHOST_TOKEN: await createToken('solutions:shop:write') })).toEqual({
    code: 4,
    out: '',
    err: `The token does not allow this: This requires a token with the scope solutions:crm:read.
Next: ask the operator for a token with the scope solutions:crm:write.
`,
  })
  // With `--no-check`, the host finds the errors, not the command. The output is the same, including the source lines.
  writeFiles(folder.path, { 'crm/globals.js': 'function a() {\n  return }\n}\n' })
  const refused = await deploy(ADMIN, '--user', 'admin')
  expect([refused.code, refused.out]).toEqual([3, ''])
  const fromHost = await deploy({ SOLHOST_TOKEN: await createToken('solutions:crm:write') }, '--no-check')
  expect(fromHost).toEqual(refused)
  expect(fromHost.err).toContain("globals.js:3:1  error script_syntax  SyntaxError: Unexpected token '}'\n    3 │ }\n")
  expect((await fetch(`${host.url}/admin/api/solutions/crm`, { headers: { authorization: host.admin } })).status).toBe(
    404,
  )
  expect(await runCli(['logs', 'crm', host.url, '--user', 'admin'], { cwd: folder.path, env: ADMIN })).toEqual({
    code: 1,
    out: '',
    err: 'There is no solution "crm".\nNext: check the name, or upload the solution with "solhost deploy".\n',
  })
})

/** Starts a server that sends the same response to every request. */
async function withServer<T>(answer: RequestListener, use: (url: string) => Promise<T>): Promise<T> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const problem =
  (status: number, code: string, detail: string): RequestListener =>
  (request, response) => {
    request.resume()
    if (request.method === 'GET') {
      response.writeHead(404, { 'content-type': 'application/problem+json' })
      response.end(JSON.stringify({ code: 'ERR_SOLUTION_NOT_FOUND', status: 404 }))
      return
    }
    response.writeHead(status, { 'content-type': 'application/problem+json' })
    response.end(JSON.stringify({ code, status, detail, correlationId: 'REF-1\u001b[2J' }))
  }

test('deploy: other host errors, other kinds of servers and a missing server get different messages', async () => {
  using folder = temporaryFolder({ 'solution.json': '{ "name": "crm", "version": "1.0.0" }' })
  const env = { SOLHOST_TOKEN: 'sol_x' }
  const deployTo = (url: string) => runCli(['deploy', '.', url, '--no-check'], { cwd: folder.path, env })
  const answered = async (answer: RequestListener) => {
    const { code, out, err } = await withServer(answer, async (url) => deployTo(url))
    return [code, out, err.replace(/127\.0\.0\.1:\d+/g, 'HOST')]
  }
  const [conflict, large, busy, away, html, moved] = await Promise.all([
    answered(problem(409, 'ERR_NAME_DIFFERS', 'it differs.')),
    answered(
      problem(413, 'ERR_BODY_TOO_LARGE', 'The request body is larger than the maximum of 10 bytes. Send less data.'),
    ),
    answered(problem(429, 'ERR_THROTTLED', 'Too many failed sign-ins.')),
    answered(problem(503, 'ERR_DATABASE_UNREACHABLE', 'not now')),
    answered((_request, response) => response.end('<h1>It works</h1>')),
    answered((_request, response) => response.writeHead(301, { location: 'https://apps.example.org/x' }).end()),
  ])
  expect(conflict).toEqual([
    1,
    '',
    'The upload conflicts with a solution on the host: it differs.\nNext: check "name" in solution.json.\n',
  ])
  expect(large).toEqual([
    3,
    '',
    'The bundle is too large for this host: The request body is larger than the maximum of 10 bytes. Send less data.\nNext: make the bundle smaller, or ask the operator to raise the limit.\n',
  ])
  expect(busy).toEqual([4, '', 'Too many failed sign-ins: Too many failed sign-ins.\n'])
  expect(away).toEqual([
    1,
    '',
    'The host could not process the request (HTTP 503): not now Look for the correlation ID REF-1�[2J in the host’s log.\n',
  ])
  expect(html).toEqual([5, '', 'http://HOST did not respond like a Solhost server (HTTP 200). Check the URL.\n'])
  expect(moved).toEqual([5, '', 'http://HOST redirects to https://apps.example.org. Use that URL.\n'])
  const gone = await withServer(
    () => {},
    async (url) => url,
  )
  expect(await deployTo(gone)).toEqual({
    code: 5,
    out: '',
    err: `The request to ${gone} failed (ECONNREFUSED). No server is listening at this URL. Start a host with "solhost start", or correct the URL.\n`,
  })
})

test('deploy: if solutions have their own host names, the solution’s URL is shown', async () => {
  const own = await startTestHost({ SOLUTION_ORIGIN: 'http://{name}.localhost' })
  try {
    using folder = await newSolution('shop')
    const words = ['deploy', 'shop', own.url, '--user', 'admin', '--json']
    const { code, out } = await runCli(words, { cwd: folder.path, env: ADMIN })
    const address = `http://shop.localhost:${new URL(own.url).port}/solution/shop/`
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ ok: true, before: null, address })])
  } finally {
    await own.stop()
  }
})

const TALKS = 'function onSolutionOpen(arg, { say }) {\n  console.log(say)\n  console.log(say)\n}\n'

/** Opens the solution, whose script logs a word twice. */
async function say(base: string, word: string): Promise<void> {
  const page = await openClient(base, 'talks', createVisitor(base), { query: `?say=${encodeURIComponent(word)}` })
  page.close()
}

test('logs -f: it shows the newest lines, then each new line once; it continues after a host restart, until Ctrl-C', async () => {
  using folder = temporaryFolder()
  const home = join(folder.path, 'home')
  const first = await startTestHost({}, { home })
  const port = new URL(first.url).port
  writeFiles(folder.path, {
    'talks/solution.json': '{ "name": "talks", "version": "1.0.0", "authenticator": "NONE" }',
    'talks/globals.js': TALKS,
    'talks/forms/main.json': '{ "layout": [] }',
  })
  const options = { cwd: folder.path, env: ADMIN }
  expect((await runCli(['deploy', 'talks', first.url, '--user', 'admin'], options)).code).toBe(0)
  await say(first.url, 'before')
  const following = startCli(['logs', 'talks', first.url, '-f', '--user', 'admin'], options)
  const words = () =>
    following
      .out()
      .split('\n')
      .flatMap((line) => /Z info {2}globals\.js:[23]:11 {2}(\S+) /.exec(line)?.[1] ?? [])
  await until(() => words().length === 2)
  await say(first.url, 'live\u001b[31m\n2000-01-01')
  await until(() => words().length === 4)
  expect(following.out().match(/ live�\[31m \(\S+\)\n {4}2000-01-01\n/g)).toHaveLength(2)

  await first.stop()
  await until(() => following.err().includes('Retrying in 1 s. Press Ctrl+C to stop.'))
  const second = await startTestHost({ PORT: port }, { home })
  await say(second.url, 'meanwhile')
  await until(() => following.err().includes('Reconnected to the host.'))
  await until(() => words().includes('meanwhile'))
  await say(second.url, 'after')
  await until(() => words().includes('after'))
  await until(() => words().length === 8)
  const live = 'live�[31m'
  expect(words()).toEqual(['before', 'before', live, live, 'meanwhile', 'meanwhile', 'after', 'after'])

  process.kill(-(following.child.pid as number), 'SIGINT')
  expect(await following.ended).toBeNull()
  expect(following.child.signalCode).toBe('SIGINT')
  await second.stop()
})

test('logs: the command shows the requested number of lines; with --json, as one JSON object per line', async () => {
  using folder = temporaryFolder()
  const options = { cwd: folder.path, env: { SOLHOST_TOKEN: await createToken('solutions:shop:read') } }
  const { out, err } = await runCli(['logs', 'shop', host.url, '-n', '1', '--json'], options)
  expect([JSON.parse(out), err]).toEqual([expect.objectContaining({ level: 'info', message: 'greeted Ada' }), ''])
  const none = await runCli(['logs', 'shop', host.url, '-n', '0', '--json'], options)
  expect([none.code, none.out]).toEqual([0, ''])
  expect((await runCli(['logs', 'shop', host.url, '-n', 'many'], options)).err).toBe(
    '--lines must be a number from 0 to 1000, not "many".\n',
  )
})

/** The descendants of a process that are still running. */
function descendants(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
    return children.flatMap((child) => [child, ...descendants(child)])
  } catch {
    return []
  }
}

/** Waits for the first sandbox process. @returns the launcher's child process and its sandbox processes */
async function runningBelow(launcher: number): Promise<number[]> {
  await until(() => descendants(launcher).length >= 2)
  return descendants(launcher)
}

test.each(['SIGINT', 'SIGTERM'] as const)(
  'check: %s while scripts are running leaves no process behind',
  async (signal) => {
    using folder = temporaryFolder({
      'solution.json': '{ "name": "crm", "version": "1.0.0" }',
      'globals.js': 'while (true) {}\n',
    })
    const started = startCli(['check'], { cwd: folder.path })
    const pid = started.child.pid as number
    const living = await runningBelow(pid)
    process.kill(-pid, signal)
    expect([await started.ended, started.child.signalCode]).toEqual([null, signal])
    await until(() => living.every((one) => !existsSync(`/proc/${one}`)))
  },
)

test('check: it ends when its launcher is killed', async () => {
  using folder = temporaryFolder({
    'solution.json': '{ "name": "crm", "version": "1.0.0" }',
    'globals.js': 'while (true) {}\n',
  })
  const started = startCli(['check'], { cwd: folder.path })
  const living = await runningBelow(started.child.pid as number)
  started.child.kill('SIGKILL')
  await until(() => living.every((one) => !existsSync(`/proc/${one}`)))
})

/** Runs a command in a separate terminal, created by `script`. */
function onTerminal(words: readonly string[], cwd: string) {
  const line = [process.execPath, LAUNCHER, ...words].map((word) => `'${word}'`).join(' ')
  const env = { PATH: process.env.PATH ?? '', TERM: 'xterm', SHELL: '/bin/sh' }
  const child = spawn('script', ['-qefc', line, '/dev/null'], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { type: (text: string) => void child.stdin.write(text), shown: () => shown, ended }
}

test('deploy on a terminal: asks for the token without showing it, shows progress, and uses colors', async () => {
  using folder = await newSolution('asked')
  const token = await createToken('solutions:asked:write')
  const terminal = onTerminal(['deploy', 'asked', host.url], folder.path)
  await until(() => terminal.shown().includes('API token: '))
  terminal.type(`x\u007f${token}\r`)
  expect(await terminal.ended).toBe(0)
  expect(terminal.shown()).not.toContain(token.slice(4, 20))
  expect(terminal.shown()).toContain('████████████████████████ the host is checking the bundle …')
  expect(terminal.shown()).toContain('\u001b[32masked 1.0.0\u001b[39m is active: the first version')
})

test('deploy on a terminal: Ctrl-C at the prompt exits with 130, and nothing is uploaded', async () => {
  using folder = await newSolution('never')
  const terminal = onTerminal(['deploy', 'never', host.url, '--user', 'admin'], folder.path)
  await until(() => terminal.shown().includes('Password for admin: '))
  terminal.type('secr\u0003')
  expect(await terminal.ended).toBe(130)
  expect(terminal.shown()).toContain('Interrupted. Nothing was changed.')
  expect(terminal.shown()).not.toContain('secr')
})

test('doctor: if a host can start, every line is ok; otherwise doctor says what to do', async () => {
  using folder = temporaryFolder({ file: '' })
  const doctor = (env: Record<string, string>, ...words: string[]) =>
    runCli(['doctor', ...words], { cwd: folder.path, env })
  const well = await runCliProcess(['doctor'], {
    cwd: folder.path,
    env: { PORT: '0', ADMIN_PORT: '0', PLATFORM_HOME: 'data' },
  })
  expect([well.code, well.err]).toEqual([0, ''])
  expect(well.out.split('\n').map((line) => line.slice(0, 32).trimEnd())).toEqual([
    'ok     Node.js',
    'ok     settings',
    'ok     sandbox process',
    'ok     pages port',
    'ok     admin pages port',
    'ok     PLATFORM_HOME folder',
    'ok     disk space',
    'ok     memory',
    'ok     database',
    'ok     clock',
    '',
    'No problems found. Next: solhost',
    '',
  ])
  expect(existsSync(join(folder.path, 'data'))).toBe(false)

  const port = new URL(host.url).port
  const adminPort = new URL(host.adminUrl).port
  const taken = await withServer(
    (_request, response) => response.end('x'),
    async (url) =>
      doctor(
        {
          PORT: port,
          ADMIN_PORT: new URL(url).port,
          METRICS_PORT: adminPort,
          PLATFORM_HOME: 'file',
          PLATFORM_DATABASE: 'alpha',
          DB_ALPHA_SERVER: '127.0.0.1',
          DB_ALPHA_PORT: '1',
        },
        '--json',
      ),
  )
  expect(taken.code).toBe(1)
  const { ok, findings } = JSON.parse(taken.out) as { ok: boolean; findings: Record<string, unknown>[] }
  expect([ok, findings.filter((finding) => finding.ok === false)]).toEqual([
    false,
    [
      {
        ok: false,
        what: 'pages port',
        found: `${port} on 127.0.0.1 is already in use by a running Solhost host`,
        advice: 'Stop that program, or set PORT to a free port.',
      },
      {
        ok: false,
        what: 'admin pages port',
        found: expect.stringMatching(/^\d+ on 127\.0\.0\.1 is already in use by another program$/),
        advice: 'Stop that program, or set ADMIN_PORT to a free port.',
      },
      {
        ok: false,
        what: 'PLATFORM_HOME folder',
        found: `${join(folder.path, 'file')} is not a folder`,
        advice: 'Set PLATFORM_HOME to a folder.',
      },
      {
        ok: false,
        what: 'database',
        found: 'The database server alpha (PostgreSQL) at 127.0.0.1:1 does not respond (ECONNREFUSED).',
        advice: 'Start it, or set DB_ALPHA_SERVER and DB_ALPHA_PORT to its address.',
      },
      {
        ok: false,
        what: 'metrics port',
        found: `${adminPort} on 127.0.0.1 is already in use by a running Solhost host`,
        advice: 'Stop that program, or set METRICS_PORT to a free port.',
      },
    ],
  ])

  expect((await doctor({ PORT: '8090', ADMIN_PORT: '8090' })).out).toContain(
    'error  settings                 ADMIN_PORT must differ from PORT, but both are "8090"\n',
  )
  const wrong = await doctor({ PORT: 'http', CALL_TIME: 'soon' })
  expect([wrong.code, wrong.out.split('\n').slice(1)]).toEqual([
    1,
    [
      'error  settings                 PORT must be a port from 0 to 65535 (0 for any free port), but is "http"',
      '       → Correct the environment variable. All variables are listed in docs/reference/settings.md.',
      'error  settings                 CALL_TIME must be a whole number followed by a unit (ms, s, m, h, d), but is "soon"',
      '       → Correct the environment variable. All variables are listed in docs/reference/settings.md.',
      '',
      '2 problems found. Next: follow the advice after "→", then run solhost doctor',
      '',
    ],
  ])
})

test('doctor: finds a damaged database and secrets that others can read, and changes nothing', async () => {
  using folder = temporaryFolder({
    'data/platform.sqlite': 'this is no database, whatever it is called',
    'data/platform-key': 'x',
  })
  const env = { PORT: '0', ADMIN_PORT: '0', PLATFORM_HOME: 'data' }
  const { code, out } = await runCli(['doctor', '--json'], { cwd: folder.path, env })
  const { findings } = JSON.parse(out) as { findings: { ok: boolean; what: string; found: string }[] }
  expect([code, findings.filter(({ ok }) => !ok).map(({ what, found }) => `${what}: ${found}`)]).toEqual([
    1,
    [
      `PLATFORM_HOME folder: other accounts can read ${join(folder.path, 'data/platform-key')}`,
      `database: Cannot open the database file ${join(folder.path, 'data/platform.sqlite')}: file is not a database`,
    ],
  ])
  expect(readFileSync(join(folder.path, 'data/platform.sqlite'), 'utf8')).toContain('this is no database')
})
