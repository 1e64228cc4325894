import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { runBuilder } from '../../control-center/pipelines/builder.ts'
import { type BuilderFence, findBuilderFence } from '../../control-center/pipelines/builder-fence.ts'
import { createBuilderHosts } from '../../control-center/pipelines/builder-hosts.ts'
import { type BuilderProxy, openBuilderProxy } from '../../control-center/pipelines/builder-proxy.ts'
import { type CertificateFolder, certificateFolder } from '../support/certificates.ts'
import { hasCommand } from '../support/commands.ts'
import { startTestRegistry } from '../support/registry.ts'

// Checks that the real builder sends every request through its proxy, even after a registry redirects it.

const isMissing = !hasCommand('buildah') || process.getuid?.() !== 0
/** Skipped if a required program is missing, but never in CI. */
const isSkipped = isMissing && process.env.CI === undefined
const title = isSkipped ? 'the way out of buildah (skipped, there is no buildah for root)' : 'the way out of buildah'

describe.skipIf(isSkipped)(title, () => {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-way-out-'))
  const buildah = [
    'buildah',
    `--root=${join(folder, 'store')}`,
    `--runroot=${join(folder, 'run')}`,
    '--storage-driver=vfs',
  ]
  let certificates: CertificateFolder

  beforeAll(async () => {
    certificates = await certificateFolder()
    await certificates.issue('registry')
  })
  afterAll(() => {
    certificates?.[Symbol.dispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  const certificate = () => ({ cert: certificates.bytes('registry.pem'), key: certificates.bytes('registry-key.pem') })

  /** Uses host names that only the proxy can resolve, so every request that arrives was sent through the proxy. */
  async function openProxy(ports: readonly number[], fence: BuilderFence | null = null) {
    const names = ['registry.apps.example.test', 'auth.apps.example.test']
    const allowed = names.flatMap((name) => ports.map((port) => `${name}:${port}`))
    const lookUp = async (name: string) => {
      if (!names.includes(name)) throw new Error('ENOTFOUND')
      return [{ address: '127.0.0.1', family: 4 }]
    }
    const lines: string[] = []
    const say = (line: string) => void lines.push(line)
    const hosts = createBuilderHosts(allowed, { lookUp })
    const proxy = await openBuilderProxy({ hosts, say, upstream: null, fence })
    onTestFinished(() => proxy.close())
    return { proxy, lines, say }
  }

  function run({ proxy, say }: { proxy: BuilderProxy; say: (line: string) => void }, ...words: string[]) {
    const environment = { ...proxy.environment, SSL_CERT_FILE: certificates.authority }
    const wayOut = { fence: proxy.fence, environment }
    const signal = new AbortController().signal
    return runBuilder({ words: [...buildah, ...words], folder, wayOut, time: 60_000, signal, say, secrets: [] })
  }

  /** A registry that responds to image requests as the test specifies. */
  async function startHostile(answer: (path: string, port: number) => Record<string, string> | null) {
    const asked: string[] = []
    const server: Server = createServer(certificate(), (request, response) => {
      const { port } = server.address() as AddressInfo
      asked.push(`${request.headers.host} ${request.url}`)
      const headers = answer(request.url ?? '', port)
      if (headers === null) response.writeHead(200).end('{}')
      else response.writeHead('location' in headers ? 307 : 401, headers).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return { port: (server.address() as AddressInfo).port, asked }
  }

  test.each(['in our network', 'in a separate network'])(
    'pushes and pulls with credentials go through the proxy, %s',
    async (where) => {
      const registry = await startTestRegistry('me', 'my-password', certificate())
      onTestFinished(() => registry.stop())
      const port = Number(registry.host.split(':')[1])
      const out = await openProxy([port], where === 'in our network' ? null : await findBuilderFence(buildah))
      const image = `registry.apps.example.test:${port}/acme/a:1`
      writeFileSync(join(folder, 'Dockerfile'), 'FROM scratch\nLABEL a=b\n')
      await run(out, 'build', '--format=docker', '--tag', 'localhost/a', folder)
      await run(out, 'push', '--creds', 'me:my-password', 'localhost/a', `docker://${image}`)
      expect(registry.manifests.has('acme/a:1')).toBe(true)
      await run(out, 'rmi', '--force', 'localhost/a')
      await run(out, 'pull', '--creds', 'me:my-password', '--policy=always', image)
      await run(out, 'rmi', '--force', image)
    },
    120_000,
  )

  test('requests to a registry’s token server and redirects go through the proxy, which rejects private hosts', async () => {
    const hostile = await startHostile((path, port) => {
      if (path.startsWith('/token')) return null
      if (path === '/v2/') {
        return { 'www-authenticate': `Bearer realm="https://auth.apps.example.test:${port}/token",service="x"` }
      }
      return { location: 'https://10.0.0.7/inside' }
    })
    const out = await openProxy([hostile.port])
    await expect(
      run(out, 'pull', '--retry=0', `registry.apps.example.test:${hostile.port}/acme/a:1`),
    ).rejects.toMatchObject({
      code: 'ERR_BUILDER_FAILED',
    })
    expect(hostile.asked.join()).toContain(`auth.apps.example.test:${hostile.port} /token`)
    expect(out.lines.join('\n')).toContain('add 10.0.0.7:443 to REGISTRY_ALLOWED_HOSTS')
  })

  test('a builder in a separate network cannot be redirected to loopback, which bypasses the proxy; without the network it can', async () => {
    const asked: (string | undefined)[] = []
    const inside = createHttpServer((request, response) => {
      asked.push(request.url)
      response.end('{}')
    })
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void inside.close())
    const { port } = inside.address() as AddressInfo
    const hostile = await startHostile((path) => (path === '/v2/' ? null : { location: `http://127.0.0.1:${port}/x` }))
    const image = `registry.apps.example.test:${hostile.port}/acme/a:1`
    const pull = (fence: BuilderFence | null) =>
      openProxy([hostile.port], fence).then((out) =>
        run(out, 'pull', '--retry=0', image).catch((error: Error) => error.message),
      )

    const fence = await findBuilderFence(buildah)
    expect(fence).not.toBeNull()
    expect(await pull(fence)).toContain('failed with exit code')
    expect([asked, hostile.asked.length > 0]).toEqual([[], true])

    // Without the separate network, the builder can reach these addresses.
    await pull(null)
    expect(asked).toEqual(['/x'])
  })

  test('the builder creates the network namespace itself if the platform lacks the permission, as for accounts without root privileges', async () => {
    const path = process.env.PATH
    const bin = mkdtempSync(join(folder, 'bin-'))
    writeFileSync(join(bin, 'unshare'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    const builder = join(bin, 'builder')
    writeFileSync(builder, `#!/bin/sh\n[ "$1" = unshare ] || exit 1\nshift\nPATH=${path} exec "$@"\n`, { mode: 0o755 })
    vi.stubEnv('PATH', `${bin}:${path}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await findBuilderFence([builder])).toEqual([
      ...[builder, 'unshare', 'unshare', '--net', '--'],
      ...[process.execPath, expect.stringMatching(/fenced-builder\.ts$/)],
    ])
  })
})
