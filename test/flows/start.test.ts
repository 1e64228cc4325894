import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { fits } from '../../bin/find-node.js'
import { firstExampleNames } from '../../host/solutions/examples.ts'
import { runCli } from '../support/cli.ts'
import { ask, createVisitor } from '../support/http.ts'
import { ONE_SPARE } from '../support/one-spare.ts'
import { compileCache } from '../support/run-folder.ts'
import { slowSolution, untilSlowLogin } from '../support/slow-solution.ts'

const LAUNCHER = fileURLToPath(new URL('../../bin/solhost.js', import.meta.url))

/**
 * The Node.js installed on the machine, which may be too old. In npm scripts, PATH begins with the right version, from
 * node_modules.
 */
const MACHINE_NODE =
  (process.env.PATH ?? '')
    .split(':')
    .filter((folder) => !folder.includes('node_modules'))
    .map((folder) => join(folder, 'node'))
    .find((file) => existsSync(file)) ?? process.execPath

// Each test starts several processes, which takes a long time on a slow machine.
vi.setConfig({ testTimeout: 240_000 })

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'solhost-start-'))
})
/** The launchers to kill after each test. A host stops when its launcher exits. */
const launchers: ChildProcess[] = []
afterEach(async () => {
  for (const child of launchers.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const closed = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGKILL')
    await closed
  }
  rmSync(home, { recursive: true, force: true })
})

type Started = {
  child: ChildProcess
  output: () => string
  code: Promise<number | null>
  url: string
  /** How long startup took, in ms. */
  took: number
}

/** How long the host may take to stop, in ms: 5 s, or twice the startup time on a slow machine. */
const endsWithin = ({ took }: Started) => Math.max(5000, 2 * took)

/** Starts the host with the launcher, as `npm start` does. */
async function start(properties: Record<string, string> = {}): Promise<Started> {
  const env = {
    PATH: process.env.PATH ?? '',
    ...compileCache(),
    PORT: '0',
    ADMIN_PORT: '0',
    PLATFORM_HOME: home,
    ...ONE_SPARE,
    ...properties,
  }
  const begun = performance.now()
  const child = spawn(MACHINE_NODE, [LAUNCHER, 'start'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  launchers.push(child)
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  const output = await untilItRuns(child, code)
  const url = /is running at (http:\/\/[^/\s]+)/.exec(output())?.[1] ?? ''
  return { child, output, code, url, took: performance.now() - begun }
}

/** Waits until the host reports that it is running, or exits. Doesn't poll, because the starting host needs the CPU. */
async function untilItRuns(child: ChildProcess, ended: Promise<unknown>): Promise<() => string> {
  let output = ''
  const runs = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        output += String(chunk)
        if (/Press Ctrl\+C to stop it/.test(output)) resolve()
      })
    }
  })
  await Promise.race([runs, ended])
  return () => output
}

test('an empty PLATFORM_HOME gets the examples; startup prints addresses, test users and the password file; changes survive restarts', async () => {
  const first = await start()
  const { child, output, code, url } = first
  expect(output()).toContain(`${url}/solution/hello/`)
  expect(output()).toContain('Sign in to tenant acme as anna, password anna-tries-acme')
  expect(output()).toContain('Sign in as vera (permission Orders)')
  const usersFile = join(home, 'example-users')
  expect(output()).toContain(`Their passwords are in ${usersFile}`)
  const ofUsers = readFileSync(usersFile, 'utf8').trim().split('\n')
  expect(ofUsers.map((line) => line.split(' ')[0])).toEqual(['vera', 'edith', 'marco'])
  for (const line of ofUsers) expect(output()).not.toContain(line.split(' ')[1])
  expect(output()).toContain('all solutions share one origin')
  const file = join(home, 'admin-password')
  expect(output()).toContain(file)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const password = readFileSync(file, 'utf8').trim()
  expect(output()).not.toContain(password)
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
  expect((await ask(`${url}/admin/api/solutions`, { headers: { authorization } })).status).toBe(200)
  // The start page describes the examples, and links to the admin pages on this machine.
  const list = (await ask(`${url}/`, { headers: { accept: 'text/html' } })).text
  expect(list).toContain('Each user sees only what their permissions allow.')
  expect(list).toContain(`<a href="${/Admin pages: +(\S+)/.exec(output())?.[1]}">admin pages</a>`)
  expect(list).not.toMatch(/trust|origin/)
  const visitor = createVisitor(url)
  await visitor.get('/solution/tenant-login/index.html')
  const fields = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }
  expect((await visitor.post('/solution/tenant-login/index.html', fields)).status).toBe(303)

  const before = performance.now()
  child.kill('SIGTERM')
  expect(await code).toBe(0)
  expect(performance.now() - before).toBeLessThan(endsWithin(first))

  // A restart keeps the password, sessions and solutions.
  const second = await start()
  expect(second.output()).not.toContain('password of the admin account')
  expect((await ask(`${second.url}/admin/api/solutions`, { headers: { authorization } })).status).toBe(200)
  const cookie = `session-tenant-login=${visitor.cookies.get('session-tenant-login')?.value}`
  expect((await ask(`${second.url}/solution/tenant-login/session`, { headers: { cookie } })).status).toBe(200)
  for (const name of firstExampleNames()) {
    const address = `${second.url}/admin/api/solutions/${name}`
    expect((await ask(address, { method: 'DELETE', headers: { authorization } })).status).toBe(204)
  }
  second.child.kill('SIGINT')
  expect(await second.code).toBe(0)

  // Deleted examples are not created again.
  const third = await start()
  expect(third.output()).toContain('No solutions are listed on the start page yet')
  third.child.kill('SIGTERM')
  await third.code
})

test('with ENVIRONMENT=prod no examples are installed in an empty PLATFORM_HOME; on SIGTERM during a sign-in, the host responds and stops within 5 s', async () => {
  const host = await start({ ENVIRONMENT: 'prod', SERVLET_PASSWORD: 'given' })
  const { child, output, code, url } = host
  expect(output()).toContain('No solutions are listed on the start page yet')
  expect(existsSync(join(home, 'example-users'))).toBe(false)
  const authorization = `Basic ${Buffer.from('admin:given').toString('base64')}`
  const headers = { authorization, 'content-type': 'application/zip' }
  expect((await ask(`${url}/admin/api/users`, { headers: { authorization } })).json()).toEqual({ items: [] })
  await ask(`${url}/admin/api/solutions/slow`, { method: 'PUT', headers, body: await slowSolution() })
  const page = '/solution/slow/index.html'
  const visitor = createVisitor(url)
  await visitor.get(page)
  const login = visitor.post(page, { username: 'anna', password: 'x', custom_wait: 'yes' })
  await untilSlowLogin(url, authorization)
  const before = performance.now()
  child.kill('SIGTERM')
  expect((await login).status).toBe(303)
  expect(await code).toBe(0)
  expect(performance.now() - before).toBeLessThan(endsWithin(host))
})

test('SIGTERM during startup stops the host, and so does killing the launcher', async () => {
  const places = { PORT: '0', ADMIN_PORT: '0', PLATFORM_HOME: home, ENVIRONMENT: 'prod' }
  const env = { PATH: process.env.PATH ?? '', ...compileCache(), ...places }
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const child = spawn(MACHINE_NODE, [LAUNCHER, 'start'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const closed = new Promise((resolve) => child.once('close', resolve))
    await new Promise((resolve) => setTimeout(resolve, 250))
    child.kill(signal)
    // The output closes when the last process that has it open exits.
    await closed
  }
})

test('npm start forwards SIGTERM; with HOST=0.0.0.0 no examples are installed in an empty PLATFORM_HOME', async () => {
  const env = {
    ...process.env,
    HOST: '0.0.0.0',
    PORT: '0',
    ADMIN_PORT: '0',
    PLATFORM_HOME: home,
    SOLHOST_LAUNCHER: undefined,
    ...ONE_SPARE,
  }
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const child = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = new Promise((resolve) => child.once('close', resolve))
  const output = await untilItRuns(child, closed)
  expect(output()).toContain('No solutions are listed on the start page yet')
  expect(existsSync(join(home, 'example-users'))).toBe(false)
  const url = /is running at (http:\/\/[^/\s]+)/.exec(output())?.[1] ?? ''
  expect((await ask(`${url}/health/ready`)).status).toBe(200)
  child.kill('SIGTERM')
  await closed
  await expect(ask(`${url}/health/ready`)).rejects.toThrow()
})

test('invalid settings prevent startup, with one line per error', async () => {
  const env = {
    PORT: 'http',
    SOLUTION_ORIGIN: 'https://example.org',
    CALL_TIME: 'soon',
    CERTIFICATE_NAME: 'x.p12',
    PLATFORM_KEY: 'short',
  }
  const { code, out, err } = await runCli(['start'], { cwd: home, env })
  expect([code, out]).toEqual([1, ''])
  expect(err.split('\n').filter((line) => line !== '')).toEqual([
    'Solhost cannot start because these settings are invalid:',
    '  PORT must be a port from 0 to 65535 (0 for any free port), but is "http"',
    '  SOLUTION_ORIGIN must be an origin whose host name starts with "{name}.", such as https://{name}.apps.example.org, but is "https://example.org"',
    '  PLATFORM_KEY must be at least 32 characters, but has 5 characters',
    '  CALL_TIME must be a whole number followed by a unit (ms, s, m, h, d), but is "soon"',
    '  CERTIFICATE_NAME is set to "x.p12", which does not exist: /usr/local/platform-certificate/x.p12. Put the file into the folder CERTIFICATE_FOLDER. In a container, mount that folder.',
  ])
})

test('a port in use and a wrong platform key prevent startup; the next start prints the password file; killing the launcher ends the host', async () => {
  const others = createServer()
  await new Promise<void>((resolve) => others.listen(0, '127.0.0.1', resolve))
  const { port } = others.address() as AddressInfo
  const taken = await start({ ENVIRONMENT: 'prod', PORT: String(port) })
  expect(await taken.code).toBe(1)
  expect(taken.output()).toContain(
    `Port ${port} on 127.0.0.1 is already in use. Stop the process that uses it, or change the setting that contains this port: PORT`,
  )
  others.close()

  // The failed start created a password but did not store it.
  const { child, output, code, url } = await start({ ENVIRONMENT: 'prod' })
  expect(output()).toContain(join(home, 'admin-password'))
  child.kill('SIGKILL')
  await expect.poll(() => ask(`${url}/health/live`).catch(() => null)).toBe(null)
  expect(existsSync(home)).toBe(true)
  // The output closes when the last process that has it open exits.
  await code

  const foreign = await start({ ENVIRONMENT: 'prod', PLATFORM_KEY: 'k'.repeat(40) })
  expect(await foreign.code).toBe(1)
  expect(foreign.output()).toContain('The platform’s key does not match its database')
})

test('the launcher accepts Node.js 24.11 and later, and 26, and rejects older versions', () => {
  expect(['20.20.2', '22.1.0', '24.10.0', '25.0.0'].map(fits)).toEqual([false, false, false, false])
  expect(['24.11.0', '26.0.0', '26.10.0', '28.0.0'].map(fits)).toEqual([true, true, true, true])
})
