import { expect, test } from 'vitest'
import { compareVersions } from '../../../base/bundles/compare-versions.ts'
import { manifestOf } from '../../support/solutions.ts'

function versionOf(files: Record<string, string | Uint8Array>, manifest: Record<string, unknown> = {}) {
  return {
    manifest: manifestOf(manifest),
    files: new Map(Object.entries(files).map(([name, content]) => [name, Buffer.from(content)])),
  }
}

/** Time limits in ms, long enough that a busy machine does not change the result. */
const ENDLESS = { one: 60_000, all: 60_000 }

const filesOf = async (from: Record<string, string | Uint8Array>, to: Record<string, string | Uint8Array>) =>
  (await compareVersions(versionOf(from), versionOf(to), ENDLESS)).files

test('compare: additions, removals and changes are listed by name; unchanged files are not', async () => {
  const files = await filesOf({ a: '1', c: 'x', same: 's' }, { b: '22', c: 'xyz', same: 's' })
  expect(files.map(({ file, change, fromBytes, toBytes }) => [file, change, fromBytes, toBytes])).toEqual([
    ['a', 'removed', 1, null],
    ['b', 'added', null, 2],
    ['c', 'changed', 1, 3],
  ])
})

test('compare: a changed text is shown with three lines of context', async () => {
  const lines = ['1', '2', '3', '4', '5', '6', '7', '8', '9']
  const [file] = await filesOf({ t: `${lines.join('\n')}\n` }, { t: `${lines.with(4, 'five').join('\n')}\n` })
  expect(file).toMatchObject({ isTooMuch: false })
  expect(file?.hunks).toEqual([
    {
      oldStart: 2,
      oldLines: 7,
      newStart: 2,
      newLines: 7,
      lines: [' 2', ' 3', ' 4', '-5', '+five', ' 6', ' 7', ' 8'],
    },
  ])
})

test('compare: binary files are not compared by lines', async () => {
  const [file] = await filesOf({ 'media/a.png': new Uint8Array([0, 1]) }, { 'media/a.png': new Uint8Array([0, 2]) })
  expect(file).toMatchObject({ hunks: null, isTooMuch: false })
})

test('compare: two texts without a common line don’t take long to compare', async () => {
  const text = (word: string) => Array.from({ length: 40_000 }, (_, n) => `${word}${n}`).join('\n')
  const [file] = await filesOf({ t: text('a') }, { t: text('b') })
  expect(file).toMatchObject({ change: 'changed', hunks: null, isTooMuch: true })
})

test('compare: if the time limit is reached, the remaining files are listed without lines', async () => {
  const [from, to] = [versionOf({ a: '1', b: '1' }), versionOf({ a: '2', b: '2' })]
  const { files } = await compareVersions(from, to, { one: 0, all: 0 })
  expect(files.map(({ hunks, isTooMuch }) => [hunks, isTooMuch])).toEqual([
    [null, true],
    [null, true],
  ])
})

test('compare: at most 5,000 lines are shown, in complete hunks', async () => {
  const many = (word: string) => Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`f${n}`, textOf(word)]))
  const textOf = (word: string) => Array.from({ length: 450 }, (_, n) => `${word}${n}\n`).join('')
  const files = await filesOf(many('a'), many('b'))
  const told = files.map(({ hunks }) => hunks?.reduce((sum, { lines }) => sum + lines.length, 0) ?? null)
  expect(told).toEqual([900, 900, 900, 900, 900, 0, 0, 0])
  expect(files.map(({ isTooMuch }) => isTooMuch)).toEqual([false, false, false, false, false, true, true, true])
})

test('compare: a long line is truncated', async () => {
  const [file] = await filesOf({ t: 'a' }, { t: 'b'.repeat(10_000) })
  expect(file?.hunks?.[0]?.lines.map(({ length }) => length)).toEqual([2, 27, 501, 27])
})

test('compare: direction marks are made visible', async () => {
  const [file] = await filesOf({ t: 'a\n' }, { t: 'if (user\u202e\u2066 // admin) {\u2069\n' })
  expect(file?.hunks?.[0]?.lines).toEqual(['-a', '+if (user\ufffd\ufffd // admin) {\ufffd'])
})

test('compare: changes that affect who can sign in are highlighted', async () => {
  const from = versionOf({}, { authenticator: 'NONE', permissions: ['Users'], title: 'One' })
  const to = versionOf({}, { authenticator: 'DEFAULT', permissions: ['Users'], http: ['a.org'], title: 'Two' })
  expect((await compareVersions(from, to)).manifest).toEqual([
    { key: 'authenticator', from: 'NONE', to: 'DEFAULT' },
    { key: 'http', from: [], to: ['a.org'] },
  ])
})

test('compare: changed endpoints and jobs are highlighted', async () => {
  const endpoints = { 'GET /orders': { function: 'read', authentication: 'none' } }
  const to = versionOf({}, { endpoints, jobs: { nightly: { function: 'run' } } })
  const { manifest } = await compareVersions(versionOf({}), to)
  expect(manifest).toMatchObject([
    { key: 'endpoints', from: {}, to: { 'GET /orders': { authentication: ['none'] } } },
    { key: 'jobs', from: {}, to: { nightly: { function: 'run' } } },
  ])
})

test('compare: if 600 files have changed, 500 of them are listed', async () => {
  const many = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`f${n}`, 'x']))
  const { files, moreFiles } = await compareVersions(versionOf({}), versionOf(many))
  expect([files.length, moreFiles]).toEqual([500, 100])
})
