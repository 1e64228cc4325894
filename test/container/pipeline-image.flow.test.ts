import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { hasCommand } from '../support/commands.ts'
import { makeTestPipeline, runToItsEnd, uploadPackage } from '../support/pipelines.ts'
import { startTestRegistry, type TestRegistry } from '../support/registry.ts'
import { bundleOf } from '../support/zip.ts'

// Tests a pipeline that builds an image with the real builder and pushes it to a local registry.

const isMissing = !hasCommand('buildah') || process.getuid?.() !== 0
/** Skipped if a required program is missing, but never in CI. */
const isSkipped = isMissing && process.env.CI === undefined
const title = isSkipped ? 'the image of a pipeline (skipped, there is no buildah for root)' : 'the image of a pipeline'

const TITLE = 'A "shop" for $HOME \\ more'
/** The credentials that support/pipelines.ts sets. */
const KEYS = { id: 'robot$acme+push', secret: 'not-a-real-secret-but-long' }

describe.skipIf(isSkipped)(title, () => {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-pipeline-'))
  const store = [`--root=${join(folder, 'store')}`, `--runroot=${join(folder, 'run')}`, '--storage-driver=vfs']
  let registry: TestRegistry
  let center: TestCenter
  let bundle: Buffer

  beforeAll(async () => {
    registry = await startTestRegistry(KEYS.id, KEYS.secret)
    center = await startTestCenter({
      BUILDER_COMMAND: ['buildah', ...store].join(' '),
      REGISTRY_ALLOWED_HOSTS: registry.host,
    })
    bundle = await bundleOf({ name: 'shop', title: TITLE, version: '1.0.0+7' })
    await uploadPackage(center, bundle)
    const { host } = registry
    await makeTestPipeline(center, { name: 'shop-image', package: 'shop', host, baseImage: 'scratch' })
  })

  afterAll(async () => {
    await center?.stop()
    await registry?.stop()
    spawnSync('umount', [join(folder, 'store', 'vfs')], { stdio: 'ignore' })
    rmSync(folder, { recursive: true, force: true })
  })

  test('the image contains the bundle, labels and SOLUTIONS_FOLDER, and is pushed with two tags; the log does not contain any keys', async () => {
    const run = await runToItsEnd(center, 'shop-image', { commit: 'abcdef0', branch: 'main' })
    const log = (await center.api('GET', `organisations/acme/pipelines/shop-image/runs/${run.number}/log`)).text
    expect([run.state, log]).toEqual(['done', expect.any(String)])
    const name = 'acme-solutions/shop'
    const manifest = JSON.parse(String(registry.manifests.get(`${name}:1.0.0-7`)))
    expect(registry.manifests.get(`${name}:latest`)).toEqual(registry.manifests.get(`${name}:1.0.0-7`))
    const { config } = JSON.parse(String(registry.blobs.get(manifest.config.digest)))
    expect(config.Env).toContain('SOLUTIONS_FOLDER=/usr/local/solutions')
    expect(config.Labels).toMatchObject({
      'org.opencontainers.image.title': TITLE,
      'org.opencontainers.image.version': '1.0.0+7',
      'org.opencontainers.image.revision': 'abcdef0',
      'solhost.build.branch': 'main',
    })
    expect(JSON.stringify(config)).not.toMatch(/proxy/i)
    const layers = manifest.layers.map(({ digest }: { digest: string }) => registry.blobs.get(digest) as Buffer)
    const content = Buffer.concat(layers.map((layer: Buffer) => gunzipSync(layer)))
    expect(content.includes(bundle)).toBe(true)
    expect(content.includes('usr/local/solutions/shop.zip')).toBe(true)
    const { items } = (await center.api('GET', 'organisations/acme/packages/shop/artifacts')).body
    const images = items.filter((one: { kind: string }) => one.kind === 'image')
    expect(images.map((one: { reference: string }) => one.reference).sort()).toEqual([
      `${registry.host}/${name}:1.0.0-7`,
      `${registry.host}/${name}:latest`,
    ])
    expect(images[0].digest).toMatch(/^sha256:[0-9a-f]{64}$/)
    const auth = Buffer.from(`${KEYS.id}:${KEYS.secret}`).toString('base64')
    for (const secret of [KEYS.secret, auth]) expect(`${log}${center.logged()}`).not.toContain(secret)
    // Checks that no files or images are left behind.
    expect(readdirSync(join(center.home, 'pipeline-runs'))).toEqual([])
    expect(
      spawnSync('buildah', [...store, 'images', '--quiet', '--all'])
        .stdout.toString()
        .trim(),
    ).toBe('')
  })

  test('a base image with ONBUILD instructions makes the build fail, and none of them run; a base image without them works', async () => {
    const asked: (string | undefined)[] = []
    const inside = createServer((request, response) => {
      asked.push(request.url)
      response.end('something of our network')
    })
    inside.listen(0, '127.0.0.1')
    await once(inside, 'listening')
    try {
      const { port } = inside.address() as AddressInfo
      await makeBase('bringing', ['--onbuild', `ADD http://127.0.0.1:${port}/meta-data /stolen`])
      await makeBase('plain', ['--label', 'x="OnBuild": ["ADD a b"]'])
      const states: Record<string, string> = {}
      for (const name of ['bringing', 'plain']) {
        const baseImage = `${registry.host}/acme-solutions/${name}:1`
        await makeTestPipeline(center, { name, package: 'shop', host: registry.host, baseImage })
        states[name] = (await runToItsEnd(center, name)).state
      }
      const log = (await center.api('GET', 'organisations/acme/pipelines/bringing/runs/1/log')).text
      expect([states, asked]).toEqual([{ bringing: 'failed', plain: 'done' }, []])
      expect(log).toContain('ONBUILD')
    } finally {
      inside.close()
    }
  })

  /** Pushes an empty image to the registry and deletes the local copy. */
  async function makeBase(name: string, configuration: readonly string[]): Promise<void> {
    const container = await buildah('from', 'scratch')
    await buildah('config', ...configuration, container)
    await buildah('commit', '--format=docker', container, `localhost/${name}`)
    const place = `docker://${registry.host}/acme-solutions/${name}:1`
    await buildah('push', '--creds', `${KEYS.id}:${KEYS.secret}`, '--tls-verify=false', `localhost/${name}`, place)
    await buildah('rm', container)
    await buildah('rmi', '--force', `localhost/${name}`)
  }

  /** Must be asynchronous, because the registry runs in this process. */
  async function buildah(...words: readonly string[]): Promise<string> {
    return (await promisify(execFile)('buildah', [...store, ...words])).stdout.trim()
  }
})
