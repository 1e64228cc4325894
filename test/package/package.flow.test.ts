import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '../support/http.ts'
import { waitUntil } from '../support/wait-until.ts'

// The package as users get it: built, packed, installed globally with the machine's npm and Node.js, and used from an
// empty home folder. Each test continues where the one before it stopped.

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'solhost-package-'))
const prefix = join(folder, 'prefix')
const home = join(folder, 'home')
/** Without what npm sets for scripts of this project, and the folders that it puts before others in PATH. */
const env = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|SOLHOST|NODE_OPTIONS|INIT_CWD)/.test(name)),
  ),
  PATH: [
    join(prefix, 'bin'),
    ...(process.env.PATH ?? '').split(':').filter((path) => !path.includes('node_modules')),
  ].join(':'),
  HOME: home,
  npm_config_prefix: prefix,
  npm_config_userconfig: process.env.npm_config_userconfig,
  npm_config_cache: process.env.npm_config_cache,
}
const running: ChildProcess[] = []
let tarball: string
let host: Started

beforeAll(async () => {
  for (const path of [prefix, home]) mkdirSync(path)
  await run('npm', ['run', 'package'], { cwd: ROOT })
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  tarball = join(ROOT, 'build', `solhost-${version}.tgz`)
})
afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

type Started = { readonly child: ChildProcess; readonly out: () => string; readonly ended: Promise<number | null> }

/** Starts a command that keeps running, and waits until it has printed `pattern`. */
async function begin(words: readonly string[], pattern: RegExp, more: Record<string, string> = {}): Promise<Started> {
  const child = spawn('solhost', words, { cwd: home, env: { ...env, ...more } })
  running.push(child)
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (out += text))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  await waitUntil(() => expect(out).toMatch(pattern))
  return { child, out: () => out, ended }
}

const solhost = async (...words: string[]) => (await run('solhost', words, { cwd: home, env })).stdout
const addressIn = (text: string, pattern: RegExp) => pattern.exec(text)?.[1] ?? ''

test('package: contains what runs and nothing else, in less than 3 MB', async () => {
  expect(statSync(tarball).size).toBeLessThan(3_000_000)
  const { stdout } = await run('tar', ['-tzf', tarball])
  const files = stdout.trim().split('\n')
  for (const file of [
    'bin/solhost.js',
    'cli/entry.js',
    'README.md',
    'LICENSE',
    'build/site/index.html',
    'runtime/plugin.d.ts',
  ]) {
    expect(files).toContain(`package/${file}`)
  }
  expect(files.filter((file) => /^package\/(test|bench|docs|examples|\.|build\/plain)|\.test\.ts$/.test(file))).toEqual(
    [],
  )
  const code = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
  expect(code.filter((file) => !file.startsWith('package/solutions/'))).toEqual([])
})

test('package: installs with npm without install scripts, and says where it runs from', async () => {
  await run(
    'npm',
    ['install', '--global', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', tarball],
    {
      cwd: home,
      env,
    },
  )
  expect(await solhost('--version')).toContain(join(prefix, 'lib/node_modules/solhost'))
})

test('package: a new solution is checked, tested and packed', async () => {
  expect(await solhost('init', 'shop')).toContain('solhost dev shop')
  expect(await solhost('check', 'shop')).toContain('0 errors')
  expect(await solhost('test', 'shop')).toContain('2 passed')
  expect(await solhost('pack', 'shop')).toContain('shop-1.0.0.zip')
})

test('package: dev serves the solution', async () => {
  const dev = await begin(['dev', 'shop'], /Press Ctrl-C to stop/, { PORT: '0', ADMIN_PORT: '0' })
  const page = await ask(`${addressIn(dev.out(), /runs at (http:\/\/\S+)/)}index.html`)
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('<!DOCTYPE html>')])
  dev.child.kill('SIGINT')
  expect(await dev.ended).toBe(0)
})

test('package: a host starts with its examples; deploy brings the solution to it, and logs shows its log', async () => {
  const properties = {
    PORT: '0',
    ADMIN_PORT: '0',
    PLATFORM_HOME: join(folder, 'data'),
    SERVLET_PASSWORD: 'test admin password',
  }
  host = await begin(['start'], /runs at http/, properties)
  const url = addressIn(host.out(), /runs at (http:\/\/[^/\s]+)/)
  expect((await ask(`${url}/solution/hello/index.html`)).status).toBe(200)
  const admin = addressIn(host.out(), /(http:\/\/[^/\s]+)\/admin\//)
  Object.assign(env, { SOLHOST_PASSWORD: 'test admin password' })
  expect(await solhost('deploy', 'shop', admin, '--user', 'admin')).toContain('shop 1.0.0 is active')
  expect((await ask(`${url}/solution/shop/index.html`)).status).toBe(200)
  expect(await solhost('logs', 'shop', admin, '--user', 'admin')).toBe('')
  const authorization = `Basic ${Buffer.from('admin:test admin password').toString('base64')}`
  expect((await ask(`${admin}/admin/guides/docs/operating.html`, { headers: { authorization } })).status).toBe(200)
})

test('package: uninstalling leaves nothing', async () => {
  host.child.kill('SIGTERM')
  expect(await host.ended).toBe(0)
  await run('npm', ['uninstall', '--global', 'solhost'], { cwd: home, env })
  expect(readdirSync(join(prefix, 'lib/node_modules'))).toEqual([])
  expect(readdirSync(join(prefix, 'bin'))).toEqual([])
})
