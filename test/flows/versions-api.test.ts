import { createHash } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { apiOf, codeOf } from '../support/api.ts'
import { sharedHost } from '../support/shared-host.ts'
import { bundleOf } from '../support/zip.ts'

let host: Awaited<ReturnType<typeof sharedHost>>
let first: Buffer
let second: Buffer
const { send, get, items } = apiOf(() => host)
const sha256Of = (packed: Buffer) => createHash('sha256').update(packed).digest('hex')

beforeAll(async () => {
  host = await sharedHost()
  first = await bundleOf(
    { name: 'versioned', authenticator: 'NONE' },
    { 'globals.js': 'var a = 1\n', 'media/a.txt': 'a' },
  )
  second = await bundleOf(
    { name: 'versioned', authenticator: 'DEFAULT', version: '2.0.0' },
    { 'globals.js': 'var a = 2\n' },
  )
  for (const bundle of [first, second]) expect((await host.upload('versioned', bundle)).status).toBe(201)
})

test('versions: the difference between two versions shows files, lines and manifest changes that affect access', async () => {
  const [from, to] = [sha256Of(first), sha256Of(second)]
  const difference = await get(`/solutions/versioned/diff?from=${from}&to=${to}`)
  expect(difference).toEqual({
    from,
    to,
    files: [
      {
        file: 'globals.js',
        change: 'changed',
        fromBytes: 10,
        toBytes: 10,
        hunks: [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ['-var a = 1', '+var a = 2'] }],
        isTooMuch: false,
      },
      { file: 'media/a.txt', change: 'removed', fromBytes: 1, toBytes: null, hunks: null, isTooMuch: false },
      expect.objectContaining({ file: 'solution.json', change: 'changed', isTooMuch: false }),
    ],
    moreFiles: 0,
    manifest: [{ key: 'authenticator', from: 'NONE', to: 'DEFAULT' }],
  })
})

test('versions: comparing requires two existing versions', async () => {
  const from = sha256Of(first)
  expect(codeOf(await send('GET', `/solutions/versioned/diff?from=${from}`))).toEqual([422, 'ERR_REQUEST_INVALID'])
  const unknown = await send('GET', `/solutions/versioned/diff?from=${from}&to=${'0'.repeat(64)}`)
  expect(codeOf(unknown)).toEqual([404, 'ERR_VERSION_NOT_FOUND'])
})

test('versions: a bundle is returned unchanged, byte for byte', async () => {
  const response = await fetch(`${host.url}/admin/api/solutions/versioned/versions/${sha256Of(first)}/bundle`, {
    headers: { authorization: host.admin },
  })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/zip'])
  expect(response.headers.get('content-disposition')).toBe(
    `attachment; filename="versioned-${sha256Of(first).slice(0, 12)}.zip"`,
  )
  expect(Buffer.from(await response.arrayBuffer()).equals(first)).toBe(true)
})

test('versions: the active version cannot be erased, another version can be erased once, and both attempts are recorded', async () => {
  const third = await bundleOf({ name: 'versioned', authenticator: 'NONE', version: '3.0.0' })
  await host.upload('versioned', third)
  const path = (packed: Buffer) => `/solutions/versioned/versions/${sha256Of(packed)}`
  expect(codeOf(await send('DELETE', path(third)))).toEqual([409, 'ERR_VERSION_ACTIVE'])
  await host.upload('versioned', second)
  expect((await send('DELETE', path(third))).status).toBe(204)
  expect(codeOf(await send('DELETE', path(third)))).toEqual([404, 'ERR_VERSION_NOT_FOUND'])
  const noted = await items('/audit?action=solution-version-delete&solution=versioned')
  expect(noted.map(({ outcome, solution }) => [outcome, solution])).toEqual([
    ['ERR_VERSION_NOT_FOUND', 'versioned'],
    ['ok', 'versioned'],
    ['ERR_VERSION_ACTIVE', 'versioned'],
  ])
})
