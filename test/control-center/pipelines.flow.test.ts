import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { makeTestPipeline, runToItsEnd, unpackZip, uploadPackage } from '../support/pipelines.ts'
import { bundleOf } from '../support/zip.ts'

/** The URL that Satellites use. It doesn't depend on the host name in a request. */
const PUBLIC_URL = 'http://control.localhost:8090'

let center: TestCenter
let bundle: Buffer
beforeAll(async () => {
  center = await startTestCenter({ PUBLIC_URL })
  bundle = await bundleOf({ name: 'shop', title: 'A "shop" for $5 \\ more' })
  await uploadPackage(center, bundle)
  await makeTestPipeline(center, { name: 'shop-image', package: 'shop' })
})
afterAll(() => center?.stop())

const PIPELINES = 'organisations/acme/pipelines'
const SHOP = `${PIPELINES}/shop-image`
const STAMP = { commit: 'abcdef0123456789', branch: 'main', number: '42', date: '2026-11-22T10:00:00Z' }

describe('pipelines', () => {
  test('a run checks the bundle, stamps it and creates the build context; without a builder, the remaining steps are skipped', async () => {
    const run = await runToItsEnd(center, 'shop-image', STAMP)
    expect(run).toMatchObject({ number: 1, state: 'done', stamp: STAMP, version: '1.0.0' })
    expect(run.steps).toEqual([
      { name: 'check', state: 'done' },
      { name: 'stamp', state: 'done' },
      { name: 'context', state: 'done' },
      { name: 'image', state: 'not-set-up' },
      { name: 'push', state: 'not-set-up' },
    ])
    const { items } = (await center.api('GET', `${SHOP}/runs/1/log`)).body
    expect(items.map((line: { number: number }) => line.number)).toEqual(items.map((_: object, at: number) => at + 1))
    expect(items[0].text).toBe(
      `"shop" 1.0.0 is valid: ${bundle.length} bytes, sha256 ${hash('sha256', bundle, 'hex')}.`,
    )
    const { versions } = (await center.api('GET', 'organisations/acme/packages/shop')).body
    expect(versions[0].stamp).toEqual(STAMP)
    expect(versions[0].sha256).toBe(hash('sha256', bundle, 'hex'))
  })

  test('the build context contains the Dockerfile, the unchanged bundle, labels and the stamp', async () => {
    const { items } = (await center.api('GET', 'organisations/acme/packages/shop/artifacts')).body
    expect(items).toHaveLength(1)
    const [artifact] = items
    expect(artifact).toMatchObject({
      kind: 'context',
      name: 'shop-1.0.0-1-context.zip',
      pipeline: 'shop-image',
      run: 1,
    })
    const token = await center.tokenOf('viewer')
    const got = await fetch(`${center.url}/api/organisations/acme/packages/shop/artifacts/${artifact.id}/content`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const content = Buffer.from(await got.arrayBuffer())
    expect(hash('sha256', content, 'hex')).toBe(artifact.contentSha256)
    const files = await unpackZip(content)
    expect([...files.keys()]).toEqual(['.dockerignore', 'Dockerfile', 'build.json', 'shop.zip'])
    expect(files.get('shop.zip')?.equals(bundle)).toBe(true)
    expect(JSON.parse(String(files.get('build.json')))).toMatchObject({ solution: 'shop', ...STAMP })
    const dockerfile = String(files.get('Dockerfile'))
    for (const line of [
      'FROM registry.example.org/solhost:1.0',
      'COPY shop.zip /usr/local/solutions/shop.zip',
      'ENV SOLUTIONS_FOLDER=/usr/local/solutions',
      'org.opencontainers.image.title="A \\"shop\\" for \\$5 \\\\ more"',
      'org.opencontainers.image.revision="abcdef0123456789"',
    ]) {
      expect(dockerfile).toContain(line)
    }
  })

  test('a version cannot be deleted while it has artifacts', async () => {
    const version = `organisations/acme/packages/shop/versions/${hash('sha256', bundle, 'hex')}`
    const refused = await center.api('DELETE', version)
    expect([refused.status, refused.body.code]).toEqual([409, 'ERR_VERSION_IN_USE'])
    expect(refused.body.detail).toContain('delete the artifacts first')
  })

  test('the log can be followed live to the end of the run, and resumed where a reader stopped', async () => {
    await center.api('POST', `${SHOP}/runs`, {})
    const token = await center.tokenOf('viewer')
    const follow = async (after: number) => {
      const answer = await fetch(`${center.url}/api/${SHOP}/runs/2/log`, {
        headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', 'last-event-id': String(after) },
      })
      expect(answer.headers.get('content-type')).toContain('text/event-stream')
      const data = [...(await answer.text()).matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json ?? ''))
      return { lines: data.filter((one) => 'line' in one), last: data.at(-1) }
    }
    const live = await follow(0)
    expect(live.last.run).toMatchObject({ state: 'done' })
    expect(live.lines.map(({ line }) => line.step)).toEqual(expect.arrayContaining(['check', 'stamp', 'context']))
    const later = await follow(live.lines.length - 1)
    expect(later.lines).toEqual(live.lines.slice(-1))
  })

  test('an unknown version, an unknown run and a run that has ended are reported differently', async () => {
    const { number } = await runToItsEnd(center, 'shop-image')
    const cancel = async () => (await center.api('POST', `${SHOP}/runs/${number}/cancel`)).body?.code
    await expect.poll(cancel).toBe('ERR_RUN_ENDED')
    const none = await center.api('POST', `${SHOP}/runs`, { sha256: '0'.repeat(64) })
    expect(none.body.code).toBe('ERR_VERSION_NOT_FOUND')
    expect((await center.api('GET', `${SHOP}/runs/99`)).status).toBe(404)
  })

  test('an invalid pipeline or stamp is rejected with a message', async () => {
    const registry = (await center.api('GET', 'organisations/acme/pipeline-registries')).body.items[0].id
    const good = { name: 'other', package: 'shop', registry, repository: 'shop', baseImage: 'solhost:1' }
    for (const [wrong, said] of [
      [{ name: 'Not Good' }, 'lowercase'],
      [{ repository: '../x' }, 'lowercase'],
      [{ baseImage: 'solhost\nRUN evil' }, 'name of an image'],
      [{ baseImage: 'oci-archive:/etc/passwd' }, 'name of an image'],
      [{ baseImage: 'containers-storage:other' }, 'must include the registry'],
      [{ baseImage: 'localhost/solhost-run-5b0c' }, 'built by a pipeline'],
      [{ baseImage: '--x' }, 'name of an image'],
      [{ registry: 'none' }, 'does not match any registry'],
    ] as const) {
      const { status, body } = await center.api('POST', PIPELINES, { ...good, ...wrong })
      expect([wrong, status, body.detail]).toEqual([wrong, 422, expect.stringContaining(said)])
    }
    expect((await center.api('POST', PIPELINES, { ...good, package: 'none' })).status).toBe(404)
    expect((await center.api('POST', PIPELINES, { ...good, name: 'shop-image' })).body.code).toBe('ERR_NAME_EXISTS')
    for (const stamp of [{ commit: 'HEAD' }, { branch: 'a\nb' }, { date: 'today' }, { more: 1 }]) {
      expect([stamp, (await center.api('POST', `${SHOP}/runs`, stamp)).status]).toEqual([stamp, 422])
    }
  })

  test('the Docker instructions contain the actual names, for both operating systems', async () => {
    const { body } = await center.api('GET', `${SHOP}/docker-information`)
    const host = '123456789012.dkr.ecr.eu-west-1.amazonaws.com'
    expect(body).toMatchObject({
      image: `${host}/acme-solutions/shop:latest`,
      config: JSON.stringify({ credHelpers: { [host]: 'ecr-login' } }, null, 2),
    })
    const { unix, windows } = body.commands
    expect(unix.logIn).toBe(
      `aws ecr get-login-password --region eu-west-1 | docker login --username AWS --password-stdin ${host}`,
    )
    expect(windows.logIn).toContain('(Get-ECRLoginCommand -Region eu-west-1).Password |')
    expect(unix.pull).toBe(`docker pull ${host}/acme-solutions/shop:latest`)
    expect(unix.folder).toBe('sudo install -d -m 0700 -o 10001 -g 10001 /srv/solhost')
    expect(readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')).toContain(':10001:10001:')
    expect(windows.folder).toBe('New-Item -ItemType Directory -Force C:\\solhost')
    for (const { run } of [unix, windows]) expect(run).toMatch(/-e PLATFORM_DATABASE=alpha .*\n +-e DB_ALPHA_SERVER=/)
    for (const part of ['-p 8080:8080', '-e ENVIRONMENT=onprem', '-e REMOTE_ENVIRONMENT_TOKEN=', '-v /srv/solhost:']) {
      expect(unix.run).toContain(part)
    }
    expect(unix.run).toContain(`-e CLOUD_URL=${PUBLIC_URL}`)
    expect(unix.run).toMatch(/-e CLOUD_PUBLIC_KEY=[A-Za-z0-9_-]{43}/)
  })

  test('a pipeline can be changed and deleted; its artifacts remain until they are deleted', async () => {
    const registry = (await center.api('GET', 'organisations/acme/pipeline-registries')).body.items[0].id
    const settings = { registry, repository: 'shop-2', baseImage: 'localhost/solhost:2' }
    expect((await center.api('PUT', SHOP, settings)).body).toMatchObject({ ...settings, name: 'shop-image' })
    expect((await center.api('DELETE', SHOP)).status).toBe(204)
    expect((await center.api('GET', SHOP)).status).toBe(404)
    const artifacts = 'organisations/acme/packages/shop/artifacts'
    const { items } = (await center.api('GET', artifacts)).body
    expect(items.length).toBeGreaterThan(0)
    for (const { id } of items) expect((await center.api('DELETE', `${artifacts}/${id}`)).status).toBe(204)
    const acts = (await center.api('GET', 'organisations/acme/activity?action=artifact-delete')).body.items
    expect(acts.map(({ subject }: { subject: string }) => subject)).toEqual(
      items.map(({ name }: { name: string }) => `shop ${name}`).toReversed(),
    )
    const version = `organisations/acme/packages/shop/versions/${hash('sha256', bundle, 'hex')}`
    expect((await center.api('DELETE', version)).status).toBe(204)
  })

  test('viewers and operators can read pipelines, developers can change them', async () => {
    for (const role of ['viewer', 'operator'] as const) {
      const token = await center.tokenOf(role)
      expect((await center.api('GET', PIPELINES, undefined, token)).status).toBe(200)
      expect((await center.api('POST', PIPELINES, {}, token)).status).toBe(403)
    }
    expect((await center.api('POST', PIPELINES, {}, await center.tokenOf('developer'))).status).toBe(422)
  })

  test('every route is documented', async () => {
    const { paths } = (await center.api('GET', 'openapi.json')).body
    for (const path of ['pipelines/{pipeline}/runs/{number}/log', 'packages/{name}/artifacts/{artifact}/content']) {
      expect(Object.keys(paths)).toContain(`/api/organisations/{organisation}/${path}`)
    }
  })
})
