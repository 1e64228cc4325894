import { type ChildProcess, execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ask } from '../support/http.ts'
import { type PackageRegistry, startPackageRegistry } from '../support/package-registry.ts'
import { testAtFullScale } from '../support/scale.ts'
import { waitUntil } from '../support/wait-until.ts'
import { createCleanMachine, missingForCleanMachine } from './clean-machine.ts'

// Tests the package as users get it: built, packed, and published to a local registry.

// Each installation writes about 370 MB, which takes a long time on a slow machine.
vi.setConfig({ testTimeout: 240_000 })

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'solhost-package-'))
let registry: PackageRegistry
let tarball: string

beforeAll(async () => {
  await run('npm', ['run', 'release', '--', '--without-images'], { cwd: ROOT })
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  tarball = join(ROOT, 'build', `solhost-${version}.tgz`)
  registry = await startPackageRegistry(join(ROOT, 'build', 'package'), tarball)
}, 300_000)
afterAll(async () => {
  await registry?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('package: it contains only the files that are needed at run time, in less than 3 MB', async () => {
  expect(statSync(tarball).size).toBeLessThan(3_000_000)
  const { stdout } = await run('tar', ['-tzf', tarball])
  const files = stdout.trim().split('\n')
  for (const file of [
    'bin/solhost.js',
    'cli/entry.js',
    'README.md',
    'LICENSE',
    'npm-shrinkwrap.json',
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

test('release: it is a folder with the package, SBOM, release notes for this version, and checksums that sha256sum accepts', async () => {
  const cwd = join(ROOT, 'build', 'release')
  const name = basename(tarball, '.tgz')
  const files = [`${name}.sbom.cdx.json`, `${name}.tgz`, 'SHA256SUMS', 'release-notes.md']
  expect(readdirSync(cwd).sort()).toEqual(files.sort())
  await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd })
  expect(readFileSync(join(cwd, 'SHA256SUMS'), 'utf8').split('\n')).toHaveLength(files.length)
  expect(readFileSync(join(cwd, 'release-notes.md'), 'utf8')).toMatch(/^# Solhost .*\n\nThis is the first version/)
  const sbom = JSON.parse(readFileSync(join(cwd, `${name}.sbom.cdx.json`), 'utf8')) as {
    components: { name: string }[]
  }
  const names = sbom.components.map((component) => component.name)
  expect(names).toContain('isolated-vm')
  expect(names).not.toContain('vitest')
})

test('package: the JavaScript has the same lines and columns as the source, so it needs no source maps', async () => {
  const built = readFileSync(join(ROOT, 'build', 'package', 'cli', 'main.js'), 'utf8').split('\n')
  const sources = readFileSync(join(ROOT, 'cli', 'main.ts'), 'utf8').split('\n')
  expect(built.length).toBe(sources.length)
  for (const [index, line] of sources.entries()) {
    const column = line.indexOf('throw new CommandError')
    if (column >= 0) expect(built[index]?.indexOf('throw new CommandError')).toBe(column)
  }
})

// Below, `npx` installs the same package with npm 10. Another installation takes 20 s of CPU time.
testAtFullScale(
  'package: it can be installed globally from its file, and uninstalling it leaves nothing behind',
  async () => {
    const prefix = join(folder, 'prefix')
    const home = join(folder, 'home')
    for (const path of [prefix, home]) mkdirSync(path)
    const env = {
      PATH: `${join(prefix, 'bin')}:${process.env.PATH}`,
      HOME: home,
      npm_config_prefix: prefix,
      npm_config_registry: registry.url,
    }
    const options = { cwd: home, env }
    await run('npm', ['install', '--global', '--no-audit', '--no-fund', tarball], options)
    expect((await run('solhost', ['--version'], options)).stdout).toContain(join(prefix, 'lib/node_modules/solhost'))
    await run('npm', ['uninstall', '--global', 'solhost'], options)
    expect(readdirSync(join(prefix, 'lib/node_modules'))).toEqual([])
    expect(readdirSync(join(prefix, 'bin'))).toEqual([])
  },
)

const missing = missingForCleanMachine()
/** Skip these tests if a required program is missing, but never in CI. */
const isSkipped = missing.length > 0 && process.env.CI === undefined
const title = isSkipped ? `a clean machine (skipped, there is no ${missing.join(', ')})` : 'a clean machine'

// Each test continues where the previous one stopped.
describe.skipIf(isSkipped)(title, () => {
  const running: ChildProcess[] = []
  let machine: ReturnType<typeof createCleanMachine>

  beforeAll(() => {
    const silent = { npm_config_audit: 'false', npm_config_update_notifier: 'false' }
    machine = createCleanMachine(folder, { ...silent, npm_config_registry: registry.url, npm_config_yes: 'true' })
  }, 300_000)
  afterAll(async () => {
    for (const child of running) if (child.exitCode === null && child.signalCode === null) signal(child, 'SIGKILL')
    machine?.remove()
  })

  type Started = { readonly child: ChildProcess; readonly out: () => string; readonly ended: Promise<number | null> }

  function start(words: readonly string[], more: Record<string, string> = {}, inFolder?: string): Started {
    const child = machine.start(['npx', 'solhost', ...words], more, inFolder)
    running.push(child)
    let out = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (out += text))
    // Resolves when all processes have closed the output, so the host has exited too. npx itself may exit earlier.
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    return { child, out: () => out, ended }
  }

  /** Starts a command that keeps running, and waits until its output matches `pattern`. */
  async function begin(words: readonly string[], pattern: RegExp, more: Record<string, string>, inFolder?: string) {
    const started = start(words, more, inFolder)
    await waitUntil(() => expect(started.out()).toMatch(pattern))
    return started
  }

  async function solhost(words: readonly string[], more: Record<string, string> = {}): Promise<string> {
    const { out, ended } = start(words, more)
    expect([await ended, out()]).toEqual([0, expect.any(String)])
    return out()
  }

  /**
   * Sends a signal to the whole process group, as Ctrl-C on a terminal does: to npx, the launcher and Solhost itself.
   */
  function signal({ pid = 0 }: ChildProcess, name: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void {
    process.kill(-pid, name)
  }

  const addressIn = (text: string, pattern: RegExp) => pattern.exec(text)?.[1] ?? ''

  test('npx solhost init: npm 10 installs the package without a compiler or options, with the dependency versions of our tests', async () => {
    expect(await solhost(['init', 'shop'])).toContain('npx solhost dev shop')
    const [place = ''] = readdirSync(join(machine.home, '.npm/_npx'))
    const modules = join(machine.home, '.npm/_npx', place, 'node_modules')
    const versionOf = (path: string) =>
      (JSON.parse(readFileSync(join(modules, 'solhost', path, 'package.json'), 'utf8')) as { version: string }).version
    const locked = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string; optional?: boolean; dev?: boolean; link?: boolean }>
    }
    const expected = Object.entries(locked.packages).filter(
      ([path, { optional, dev, link }]) => path.startsWith('node_modules/') && !optional && !dev && !link,
    )
    expect(expected.length).toBeGreaterThan(100)
    expect(expected.map(([path]) => [path, versionOf(path)])).toEqual(
      expected.map(([path, { version }]) => [path, version]),
    )
    expect(readdirSync(join(modules, 'solhost/node_modules/isolated-vm'))).not.toContain('build')
  })

  test('check, test and pack succeed', async () => {
    expect(await solhost(['check', 'shop'])).toContain('0 errors')
    expect(await solhost(['test', 'shop'])).toContain('2 passed')
    expect(await solhost(['pack', 'shop'])).toContain('shop-1.0.0.zip')
  })

  test('dev serves the solution in the folder', async () => {
    const dev = await begin(['dev'], /Press Ctrl\+C to stop/, { PORT: '0', ADMIN_PORT: '0' }, 'shop')
    const page = await ask(`${addressIn(dev.out(), /is running at (http:\/\/\S+)/)}index.html`)
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('<!DOCTYPE html>')])
    signal(dev.child, 'SIGINT')
    await dev.ended
  })

  test('a host starts with the examples; deploy uploads the solution to it, and logs shows its log', async () => {
    const password = { SOLHOST_PASSWORD: 'test admin password' }
    const host = await begin(['start'], /Press Ctrl\+C to stop it/, {
      PORT: '0',
      ADMIN_PORT: '0',
      PLATFORM_HOME: '/home/anna/data',
      SERVLET_PASSWORD: password.SOLHOST_PASSWORD,
    })
    const url = addressIn(host.out(), /is running at (http:\/\/[^/\s]+)/)
    expect((await ask(`${url}/solution/hello/index.html`)).status).toBe(200)
    const admin = addressIn(host.out(), /(http:\/\/[^/\s]+)\/admin\//)
    expect(await solhost(['deploy', 'shop', admin, '--user', 'admin'], password)).toContain('shop 1.0.0 is active')
    expect((await ask(`${url}/solution/shop/index.html`)).status).toBe(200)
    expect(await solhost(['logs', 'shop', admin, '--user', 'admin'], password)).toContain('The log for shop is empty')
    const authorization = `Basic ${Buffer.from('admin:test admin password').toString('base64')}`
    expect((await ask(`${admin}/admin/guides/docs/operating.html`, { headers: { authorization } })).status).toBe(200)
    signal(host.child, 'SIGTERM')
    await host.ended
  })

  test('npx installs only into npm’s cache; the home folder contains nothing else except the solution and its data', () => {
    expect(readdirSync(machine.home).sort()).toEqual(['.cache', '.local', '.npm', 'data', 'shop', 'shop-1.0.0.zip'])
  })
})
