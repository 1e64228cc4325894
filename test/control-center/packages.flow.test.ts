import { hash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { bundleOf } from '../support/zip.ts'

let center: TestCenter
let owner: string
beforeAll(async () => {
  center = await startTestCenter()
  owner = await center.tokenOf('owner')
})
afterAll(() => center?.stop())

const PACKAGES = 'organisations/acme/packages'

async function upload(method: 'PUT' | 'POST', path: string, bundle: Uint8Array, token = owner) {
  const answer = await fetch(`${center.url}/api/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/zip' },
    body: new Uint8Array(bundle),
  })
  // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
  return { status: answer.status, body: (await answer.json()) as any }
}

const sha256Of = (bundle: Uint8Array) => hash('sha256', bundle, 'hex')

describe('packages', () => {
  test('an upload under a name is checked and stored; repeating the same upload gets 200', async () => {
    const bundle = await packFolder(exampleFolder('orders'))
    const first = await upload('PUT', `${PACKAGES}/orders`, bundle)
    expect(first).toMatchObject({ status: 201, body: { name: 'orders', sha256: sha256Of(bundle), warnings: [] } })
    const again = await upload('PUT', `${PACKAGES}/orders`, bundle)
    expect([again.status, again.body.sha256]).toEqual([200, sha256Of(bundle)])
    const { body } = await center.api('GET', `${PACKAGES}/orders`)
    expect(body.versions).toEqual([
      {
        sha256: sha256Of(bundle),
        version: first.body.version,
        title: expect.any(String),
        authenticator: expect.any(String),
        bytes: bundle.length,
        stamp: null,
        uploadedAt: expect.any(Number),
        uploadedBy: expect.stringMatching(/^token:/),
      },
    ])
  })

  test('an upload without a name uses the manifest’s name, and versions accumulate', async () => {
    const [older, newer] = [await bundleOf({ name: 'shop' }), await bundleOf({ name: 'shop', version: '2.0.0' })]
    expect(await upload('POST', PACKAGES, older)).toMatchObject({ status: 201, body: { name: 'shop' } })
    expect(await upload('POST', PACKAGES, newer)).toMatchObject({ status: 201, body: { version: '2.0.0' } })
    expect((await upload('POST', PACKAGES, newer)).status).toBe(200)
    const { items } = (await center.api('GET', PACKAGES)).body
    expect(items.find((one: { name: string }) => one.name === 'shop').newest.version).toBe('2.0.0')
    const { versions } = (await center.api('GET', `${PACKAGES}/shop`)).body
    expect(versions.map((one: { version: string }) => one.version)).toEqual(['2.0.0', '1.0.0'])
  })

  test('an invalid bundle is rejected with all its errors and not stored', async () => {
    const bundle = await bundleOf({ name: 'faulty' }, { 'globals.js': 'function (', 'forms/a.json': '{' })
    const { status, body } = await upload('PUT', `${PACKAGES}/faulty`, bundle)
    expect([status, body.code]).toEqual([422, 'ERR_BUNDLE_REFUSED'])
    expect(body.faults.map((fault: { file: string }) => fault.file)).toEqual(
      expect.arrayContaining(['forms/a.json', 'globals.js']),
    )
    expect((await center.api('GET', `${PACKAGES}/faulty`)).status).toBe(404)
  })

  test('a bundle with another name and a file that is not a ZIP file are rejected', async () => {
    const other = await upload('PUT', `${PACKAGES}/orders`, await bundleOf({ name: 'other' }))
    expect([other.status, other.body.code]).toEqual([409, 'ERR_NAME_DIFFERS'])
    const text = await center.api('PUT', `${PACKAGES}/orders`, {})
    expect([text.status, text.body.code]).toEqual([415, 'ERR_CONTENT_TYPE'])
    expect((await upload('PUT', `${PACKAGES}/orders`, Buffer.from('no zip'))).status).toBe(422)
  })

  test('the bundle is returned unchanged, and only to its organisation', async () => {
    const bundle = await bundleOf({ name: 'download' })
    await upload('POST', PACKAGES, bundle)
    const path = `${PACKAGES}/download/versions/${sha256Of(bundle)}/bundle`
    const got = await fetch(`${center.url}/api/${path}`, { headers: { authorization: `Bearer ${owner}` } })
    expect(sha256Of(Buffer.from(await got.arrayBuffer()))).toBe(sha256Of(bundle))
    expect(got.headers.get('content-disposition')).toContain('download-')
    const { organisations } = center.parts
    await organisations.create({ name: 'other', title: 'Other' }, await center.account('other@example.org'))
    const stranger = await center.tokenOf('owner', 'other')
    expect((await center.api('GET', path, undefined, stranger)).status).toBe(404)
    const own = path.replace('/acme/', '/other/')
    expect((await center.api('GET', own, undefined, stranger)).status).toBe(404)
  })

  test('a version can be deleted unless it is in use, and a package is deleted with its last version', async () => {
    const bundle = await bundleOf({ name: 'held' })
    await upload('POST', PACKAGES, bundle)
    const { packages, organisations } = center.parts
    const acme = (await organisations.find('acme'))?.id
    let isHeld = true
    packages.heldBy(async (_db, organisation, name) =>
      isHeld && organisation === acme && name === 'held' ? 'the environment "prod" runs it' : null,
    )
    const path = `${PACKAGES}/held/versions/${sha256Of(bundle)}`
    const refused = await center.api('DELETE', path)
    expect([refused.status, refused.body.code]).toEqual([409, 'ERR_VERSION_IN_USE'])
    expect(refused.body.detail).toContain('the environment "prod" runs it')
    isHeld = false
    expect((await center.api('DELETE', path)).status).toBe(204)
    expect((await center.api('GET', `${PACKAGES}/held`)).status).toBe(404)
    expect((await center.api('DELETE', path)).body.code).toBe('ERR_VERSION_NOT_FOUND')
  })

  test('viewers and operators can read packages, developers can change them, and changes are in the audit log', async () => {
    const bundle = await bundleOf({ name: 'rights' })
    for (const role of ['viewer', 'operator'] as const) {
      const token = await center.tokenOf(role)
      const refused = await upload('POST', PACKAGES, bundle, token)
      expect([role, refused.status]).toEqual([role, 403])
      expect((await center.api('GET', PACKAGES, undefined, token)).status).toBe(200)
    }
    const uploaded = await upload('POST', PACKAGES, bundle, await center.tokenOf('developer'))
    expect(uploaded.status).toBe(201)
    const { items } = (await center.api('GET', 'organisations/acme/activity')).body
    const subject = `rights ${uploaded.body.sha256.slice(0, 12)}`
    expect(items[0]).toMatchObject({ action: 'package-upload', subject, outcome: 'ok' })
  })
})

test('packages: uploads over ORGANISATION_STORAGE are rejected until something is deleted', async () => {
  const small = await startTestCenter({ ORGANISATION_STORAGE: '6k' })
  try {
    const token = await small.tokenOf('developer')
    const bundles = await Promise.all(
      ['1.0.0', '2.0.0'].map((version) => bundleOf({ name: 'shop', version }, { 'media/a.bin': randomBytes(4000) })),
    )
    const put = async (bundle: Uint8Array | undefined) => {
      const answer = await fetch(`${small.url}/api/${PACKAGES}/shop`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/zip' },
        body: new Uint8Array(bundle ?? []),
      })
      return answer.status
    }
    expect([await put(bundles[0]), await put(bundles[1]), await put(bundles[0])]).toEqual([201, 507, 200])
    await small.api('DELETE', `${PACKAGES}/shop/versions/${sha256Of(bundles[0] as Buffer)}`)
    expect(await put(bundles[1])).toBe(201)
  } finally {
    await small.stop()
  }
})
