import { beforeAll, expect, test } from 'vitest'
import { ask } from '../support/http.ts'
import { sharedHost } from '../support/shared-host.ts'
import { bundleOf } from '../support/zip.ts'

let host: Awaited<ReturnType<typeof sharedHost>>
beforeAll(async () => {
  host = await sharedHost()
})

const post = (body: Uint8Array, headers: Record<string, string> = { authorization: host.admin }) =>
  ask(`${host.url}/admin/api/solutions`, {
    method: 'POST',
    headers: { 'content-type': 'application/zip', ...headers },
    body,
  })
const admin = (path: string, body?: object) =>
  ask(`${host.url}/admin/api/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: host.admin, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

test('a bundle uploaded without a name in the URL gets the name in its manifest', async () => {
  const bundle = await bundleOf({ name: 'by-manifest', authenticator: 'NONE' }, { 'notes.txt': 'x' })
  const first = await post(bundle)
  expect([first.status, first.headers.location]).toEqual([201, '/admin/api/solutions/by-manifest'])
  expect(first.json()).toEqual({
    name: 'by-manifest',
    version: '1.0.0',
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    active: true,
    warnings: [
      {
        file: 'notes.txt',
        code: 'file_unused',
        message: expect.any(String),
        source: null,
        advice: expect.stringContaining('Move the file'),
      },
    ],
  })
  expect((await post(bundle)).status).toBe(200)
})

test('if the bundle is rejected, the response shows every error with its position, its line and what to change', async () => {
  const refused = await post(
    await bundleOf({ name: 'at-fault', authenticator: 'NONE' }, { 'globals.js': 'const a = 1\nconst b = = 2\n' }),
  )
  expect([refused.status, refused.json()]).toEqual([
    422,
    expect.objectContaining({
      code: 'ERR_BUNDLE_REFUSED',
      faults: [
        {
          file: 'globals.js',
          line: 2,
          column: 11,
          code: 'script_syntax',
          message: expect.any(String),
          source: 'const b = = 2',
          advice: 'Fix the script here, or just before this position.',
        },
      ],
    }),
  ])
})

test('the audit log contains the solution’s name if it could be read from the bundle', async () => {
  await post(await bundleOf({ name: 'in-audit', authenticator: 'NONE' }))
  await post(await bundleOf({ name: 'refused-in-audit', authenticator: 'NONE' }, { 'globals.js': 'let = 1 1' }))
  await post(Buffer.from('no zip'))
  const { items } = (await admin('audit?limit=3&action=solution-upload')).json() as {
    items: { solution?: string; outcome: string }[]
  }
  expect(items.map(({ solution, outcome }) => `${solution} ${outcome}`).sort()).toEqual([
    'in-audit ok',
    'refused-in-audit ERR_BUNDLE_REFUSED',
    'undefined ERR_BUNDLE_REFUSED',
  ])
})

test('a token for a single solution is rejected before the bundle is read', async () => {
  const made = (await admin('tokens', { name: 'one', scopes: ['solutions:narrow:write'] })).json() as { token: string }
  const wide = (await admin('tokens', { name: 'all', scopes: ['solutions:*:write'] })).json() as { token: string }
  const bundle = await bundleOf({ name: 'narrow', authenticator: 'NONE' })
  const refused = await post(bundle, { authorization: `Bearer ${made.token}` })
  expect([refused.status, refused.json()]).toEqual([403, expect.objectContaining({ code: 'ERR_FORBIDDEN' })])
  expect((await post(bundle, { authorization: `Bearer ${wide.token}` })).status).toBe(201)
})
