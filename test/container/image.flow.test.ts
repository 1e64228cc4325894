import { execFileSync } from 'node:child_process'
import {
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { NAVIGATION } from '../support/admin.ts'
import { ask, createVisitor, type Visitor } from '../support/http.ts'
import { makeNamespace, type NetworkNamespace } from '../support/network-namespace.ts'
import { waitUntil } from '../support/wait-until.ts'
import { BASE, createEngine, type Engine, IMAGE, missingForContainers } from './engine.ts'

// The image is built as users build it. It runs without the privileges that it doesn't need; see `HARDENED` in
// engine.ts.

const missing = missingForContainers()
/** Skipped if a required program is missing, but never in CI. */
const isSkipped = missing.length > 0 && process.env.CI === undefined
const title = isSkipped ? `the container image (skipped, there is no ${missing.join(', ')})` : 'the container image'

/** The user that the image runs as, and the paths that it can write to. */
const UID = 10001
const HOME = '/usr/local/platform'
const PAGE = '/solution/tenant-login/index.html'
const HEALTH_CHECK = ['node', '/opt/solhost/bin/health-check.js']

describe.skipIf(isSkipped)(title, () => {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-image-'))
  let engine: Engine
  let network: NetworkNamespace
  /** The path of the image's root folder on this machine. */
  let root: string
  let password: string
  let visitor: Visitor

  beforeAll(async () => {
    engine = createEngine()
    network = makeNamespace(0)
    await engine.build()
    root = await engine.ask('image', 'mount', IMAGE)
    await engine.start('first', [joining(network), `--volume=${platformFolder('platform')}:${HOME}`])
    await untilReady()
  }, 300_000)

  afterAll(async () => {
    await engine?.remove()
    network?.remove()
    rmSync(folder, { recursive: true })
  })

  function platformFolder(name: string, owner = UID): string {
    const path = join(folder, name)
    mkdirSync(path, { recursive: true, mode: 0o700 })
    chownSync(path, owner, owner)
    return path
  }

  const urlOf = (port: number) => `http://${network.address}:${port}`

  async function untilReady(): Promise<void> {
    const isReady = async () => expect((await ask(`${urlOf(8080)}/health/ready`)).status).toBe(200)
    await waitUntil(isReady, { interval: 50 })
  }

  const inspect = async (kind: 'container' | 'image', name: string, format: string) =>
    JSON.parse(await engine.ask(kind, 'inspect', `--format={{json ${format}}}`, name)) as unknown

  test('the image adds at most 120 MB to its base', async () => {
    const [base, image] = await Promise.all([BASE, IMAGE].map((name) => inspect('image', name, '.Size')))
    const added = ((image as number) - (base as number)) / 1e6
    expect(added).toBeGreaterThan(10)
    expect(added).toBeLessThan(120)
  })

  test('the image has labels that describe it, and runs as a numeric UID without root privileges', async () => {
    const { version, license } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as Record<string, string>
    expect(await inspect('image', IMAGE, '.Config')).toMatchObject({
      User: `${UID}:${UID}`,
      ExposedPorts: { '8080/tcp': {} },
      Volumes: { [HOME]: {}, '/usr/local/platform-certificate': {} },
      StopSignal: 'SIGTERM',
      Labels: {
        'org.opencontainers.image.title': 'Solhost',
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.licenses': license,
        'org.opencontainers.image.revision': 'unknown',
        'org.opencontainers.image.source': 'unknown',
      },
    })
    expect(await inspect('image', IMAGE, '.HealthCheck.Test')).toEqual(['CMD', ...HEALTH_CHECK])
  })

  test('the image contains nothing that its user can write to, except the home folder and /tmp', () => {
    const writable = readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isSymbolicLink())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => {
        const { uid, mode } = statSync(path)
        return uid !== 0 || (mode & 0o002) !== 0
      })
    expect(writable.map((path) => path.slice(root.length)).sort()).toEqual(['/tmp', HOME])
  })

  test('the image contains no setuid or setgid programs', () => {
    const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const given = files
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => statSync(path).mode & 0o6000)
    expect(given).toEqual([])
  })

  test('the image contains the production packages in the lock file, no development packages, no second Node.js, and a matching SBOM', () => {
    type Locked = { readonly packages: Record<string, { version?: string; dev?: boolean }> }
    const lock = JSON.parse(readFileSync(join(root, 'opt/solhost/package-lock.json'), 'utf8')) as Locked
    const modules = join(root, 'opt/solhost/node_modules')
    const installed = readdirSync(modules, { recursive: true, encoding: 'utf8' })
      .filter((path) =>
        /(?:^|\/node_modules\/)(?:@[^/]+\/)?[^/]+\/package\.json$|^(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path),
      )
      .map((path) => `node_modules/${path.slice(0, -'/package.json'.length)}`)
    expect(installed.length).toBeGreaterThan(100)
    expect(installed.filter((path) => lock.packages[path]?.version === undefined || lock.packages[path].dev)).toEqual(
      [],
    )
    expect(installed.filter((path) => /node-linux|vitest|typescript/.test(path))).toEqual([])

    type Bom = { bomFormat: string; components: { name: string; version: string; group?: string }[] }
    const bom = JSON.parse(readFileSync(join(root, 'opt/solhost/sbom.cdx.json'), 'utf8')) as Bom
    expect(bom.bomFormat).toBe('CycloneDX')
    const listed = bom.components.map(({ group, name, version }) => `${group ? `${group}/` : ''}${name}@${version}`)
    const named = installed.map(
      (path) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${lock.packages[path]?.version}`,
    )
    expect([...new Set(listed)].sort()).toEqual([...new Set(named)].sort())
  })

  test('the host exits with 1 and prints a line for each invalid setting', async () => {
    const wrong = { PORT: 'abc', RUNTIME_XMX: 'lots', TIMEZONE: 'Mars/Olympus', DB_ALPHA_PORT: '-1', LOG_LEVEL: 'loud' }
    // The host listens on all addresses, because HOST is 0.0.0.0 in the image.
    const both = { ENVIRONMENT: 'onprem', PLATFORM_TESTING_MODE: 'true', SERVLET_PASSWORD_FILE: '/run/secrets/none' }
    const properties = Object.entries({ ...wrong, ...both }).map(([name, value]) => `--env=${name}=${value}`)
    const { code, output } = await engine.run(properties)
    expect(code).toBe(1)
    const lines = output.split('\n').map((line) => /^ {2}([A-Z_]+) /.exec(line)?.[1])
    const named = [...Object.keys(wrong), 'PLATFORM_TESTING_MODE', 'SERVLET_PASSWORD_FILE']
    expect(lines.filter((name) => name !== undefined).sort()).toEqual(named.sort())
  })

  test('if the host cannot write to a mounted folder, it exits with 1 and says which UID must own the folder', async () => {
    const { code, output } = await engine.run([`--volume=${platformFolder('of-another', 0)}:${HOME}`])
    expect(code).toBe(1)
    expect(output.trim()).toBe(
      `Cannot use the folder PLATFORM_HOME: EACCES: permission denied, access '${HOME}'. ` +
        `Make the account that runs Solhost (user ID ${UID}) the owner of the folder.`,
    )
  })

  test('the host works with any UID that owns the folder; with a certificate it serves TLS, and the health check supports that', async () => {
    const owner = 4242
    const certificates = join(folder, 'certificates')
    mkdirSync(certificates)
    const pair = ['certificate', 'key'].map((name) =>
      fileURLToPath(new URL(`../support/tls/${name}.pem`, import.meta.url)),
    )
    const [certificate = '', key = ''] = pair
    const file = join(certificates, 'server.p12')
    execFileSync('openssl', [
      'pkcs12',
      '-export',
      '-in',
      certificate,
      '-inkey',
      key,
      '-out',
      file,
      '-passout',
      'pass:word',
    ])
    writeFileSync(join(folder, 'certificate-pass'), 'word')
    for (const path of [file, join(folder, 'certificate-pass')]) chownSync(path, owner, owner)
    await engine.start('tls', [
      `--user=${owner}:${owner}`,
      '--network=none',
      '--env=CERTIFICATE_NAME=server.p12',
      '--env=CERTIFICATE_PASS_FILE=/run/secrets/certificate',
      `--volume=${certificates}:/usr/local/platform-certificate:ro`,
      `--volume=${join(folder, 'certificate-pass')}:/run/secrets/certificate:ro`,
      `--volume=${platformFolder('tls', owner)}:${HOME}`,
    ])
    await waitUntil(
      async () => {
        expect(await engine.podman('exec', 'tls', ...HEALTH_CHECK)).toEqual({ code: 0, output: '' })
      },
      { interval: 200 },
    )
    expect((await engine.podman('exec', '--env=CERTIFICATE_NAME=', 'tls', ...HEALTH_CHECK)).code).toBe(1)
    await engine.ask('stop', 'tls')
    expect(await inspect('container', 'tls', '.State.ExitCode')).toBe(0)
  })

  test('SIGTERM also stops a host that is still loading', async () => {
    await engine.start('early', ['--network=none', `--volume=${platformFolder('early')}:${HOME}`])
    const pid = (await inspect('container', 'early', '.State.Pid')) as number
    // Sends SIGTERM as soon as the process handles signals. Waits for its SIGHUP handler, which is registered after the
    // one for SIGTERM. The process is first one of runc, which handles all signals.
    const isHost = () => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('/cli/entry.ts')
    const caught = () => /^SigCgt:\s*(\S+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0'
    await vi.waitUntil(() => isHost() && BigInt(`0x${caught()}`) & 1n, { timeout: 60_000, interval: 1 })
    process.kill(pid, 'SIGTERM')
    expect(await engine.ask('wait', 'early')).toMatch(/^(?:143|0)$/)
  })

  test('the health check exits with 0 if the host responds; otherwise it exits with 1 and prints the reason', async () => {
    expect(await engine.podman('exec', 'first', ...HEALTH_CHECK)).toEqual({ code: 0, output: '' })
    const { code, output } = await engine.podman('exec', '--env=PORT=9', 'first', ...HEALTH_CHECK)
    expect([code, output]).toEqual([1, expect.stringContaining('http://127.0.0.1:9/health/live: connect ECONNREFUSED')])
  })

  test('the host is process 1, has no capabilities and cannot get any', async () => {
    const pid = await inspect('container', 'first', '.State.Pid')
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')).toEqual(
      expect.arrayContaining(['--disable-sigusr1', '/opt/solhost/cli/entry.ts', 'start']),
    )
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const of = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]
    const shown = ['CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp'].map(of)
    expect(shown).toEqual(['0000000000000000', '0000000000000000', '1', '2'])
    expect(of('Uid')?.split('\t')).toEqual(Array(4).fill(String(UID)))
  })

  test('no process in the container can kill or suspend the host', async () => {
    const kill = "for (const signal of ['SIGKILL', 'SIGSTOP']) process.kill(1, signal)"
    expect((await engine.podman('exec', 'first', 'node', '-e', kill)).code).toBe(0)
    expect((await ask(`${urlOf(8080)}/health/live`)).status).toBe(200)
  })

  test('the admin pages are reachable only inside the container', async () => {
    await expect(ask(urlOf(8081))).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    const look = "await fetch('http://127.0.0.1:8081/admin/').then((r) => process.exit(r.status === 200 ? 0 : 3))"
    expect((await engine.podman('exec', 'first', 'node', '--input-type=module', '-e', look)).code).toBe(0)
  })

  test('a killed sandbox process does not remain as a zombie', async () => {
    const pid = await inspect('container', 'first', '.State.Pid')
    const children = () => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
    const [victim] = children()
    expect(victim).toBeDefined()
    process.kill(Number(victim), 'SIGKILL')
    await waitUntil(() => expect(children()).not.toContain(victim))
    const states = children().map((child) => /^State:\s*(\S)/m.exec(readFileSync(`/proc/${child}/status`, 'utf8'))?.[1])
    expect(states).not.toContain('Z')
  })

  test('an example can be deployed from outside with the initial admin password, and a user can sign in', async () => {
    const file = join(folder, 'platform', 'admin-password')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    password = readFileSync(file, 'utf8').trim()
    expect((await ask(`${urlOf(8080)}/`)).text).not.toContain('tenant-login')
    const answer = await ask(`${urlOf(8080)}/admin/api/solutions/tenant-login`, {
      method: 'PUT',
      headers: { authorization: basic('admin', password), 'content-type': 'application/zip' },
      body: await packFolder(exampleFolder('tenant-login')),
    })
    expect(answer.status).toBe(201)

    visitor = createVisitor(urlOf(8080))
    expect((await visitor.get(PAGE)).text).toContain('login_form')
    const fields = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme', id_token: '' }
    expect((await visitor.post(PAGE, fields)).status).toBe(303)
    expect((await visitor.get('/solution/tenant-login/session')).json()).toMatchObject({ username: 'anna' })
  })

  test('the container of a control center shows where the setup code is, and a new container with the same folder has all data', async () => {
    const home = platformFolder('center')
    const options = [joining(network), '--entrypoint=control-center', `--volume=${home}:${HOME}`]
    const center = urlOf(8090)
    const start = async (name: string) => {
      await engine.start(name, options)
      await waitUntil(async () => expect((await ask(`${center}/health/ready`)).status).toBe(200))
      expect(await engine.podman('exec', name, ...HEALTH_CHECK)).toEqual({ code: 0, output: '' })
    }
    const post = (path: string, fields: Record<string, string>) =>
      ask(`${center}${path}`, {
        method: 'POST',
        headers: { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(fields).toString(),
      })

    await start('center-one')
    expect(await engine.ask('logs', 'center-one')).toContain(`The set-up code is in ${HOME}/set-up-code`)
    const code = await engine.ask('exec', 'center-one', 'cat', `${HOME}/set-up-code`)
    const owner = { username: 'owner@example.org', password: 'a long test password' }
    expect((await post('/set-up', { title: 'Acme', organisation: 'acme', ...owner, code })).status).toBe(303)
    const saved = `${HOME}/center.zip`
    expect(await engine.ask('exec', 'center-one', 'control-center', 'backup', saved)).toContain('with telemetry')
    await engine.ask('stop', 'center-one')
    expect(await inspect('container', 'center-one', '.State.ExitCode')).toBe(0)
    await engine.ask('rm', 'center-one')

    await start('center-two')
    expect(await engine.ask('logs', 'center-two')).not.toContain('set-up')
    expect((await post('/sign-in', owner)).status).toBe(303)
    await engine.ask('stop', 'center-two')
    expect(await inspect('container', 'center-two', '.State.ExitCode')).toBe(0)

    const other = platformFolder('center-restored')
    copyFileSync(join(home, 'center.zip'), join(other, 'center.zip'))
    chownSync(join(other, 'center.zip'), UID, UID)
    const restored = await engine.run(
      ['--entrypoint=control-center', `--volume=${other}:${HOME}`],
      ...['restore', saved],
    )
    expect([restored.code, restored.output]).toEqual([0, expect.stringContaining('Restored the control center as of')])
  })

  test('SIGTERM stops the container cleanly, and a new container with the same folder keeps solutions, sessions and secrets', async () => {
    await engine.ask('stop', 'first')
    expect(await inspect('container', 'first', '.State.ExitCode')).toBe(0)
    await engine.ask('rm', 'first')

    const secret = join(folder, 'secret')
    writeFileSync(secret, 'a password of the operator', { mode: 0o400 })
    chownSync(secret, UID, UID)
    const properties = {
      SERVLET_USERNAME: 'operator',
      SERVLET_PASSWORD_FILE: '/run/secrets/admin',
      ENVIRONMENT: 'onprem',
      TIMEZONE: 'Europe/Brussels',
      RUNTIME_XMX: '1g',
      ADMIN_HOST: '0.0.0.0',
    }
    await engine.start('second', [
      joining(network),
      `--volume=${join(folder, 'platform')}:${HOME}`,
      `--volume=${secret}:/run/secrets/admin:ro`,
      ...Object.entries(properties).map(([name, value]) => `--env=${name}=${value}`),
    ])
    await untilReady()
    expect((await visitor.get('/solution/tenant-login/session')).json()).toMatchObject({ username: 'anna' })
    // If enabled, the admin pages are available at a port that is published only on this machine.
    const settings = await ask(`${urlOf(8081)}/admin/api/settings`, {
      headers: { authorization: basic('operator', 'a password of the operator'), host: '127.0.0.1:8081' },
    })
    const { items } = settings.json() as { items: { name: string; value: unknown }[] }
    const { SERVLET_PASSWORD_FILE: _, ...shown } = properties
    expect(Object.fromEntries(items.map(({ name, value }) => [name, value]))).toMatchObject({
      ...shown,
      PLATFORM_HOME: HOME,
    })
    expect(settings.text).not.toContain('a password of the operator')
    await engine.ask('stop', 'second')
    expect(await inspect('container', 'second', '.State.ExitCode')).toBe(0)
  })
})

function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
}

/** Joins the container's network namespace, so that only this test can reach the container's ports from outside. */
function joining({ name }: NetworkNamespace): string {
  return `--network=ns:/run/netns/${name}`
}
