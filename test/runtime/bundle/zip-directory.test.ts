import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { readBundle } from '../../../runtime/bundle/read-bundle.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { descriptorOf, manifestText, type RawEnd, type RawEntry, rawZip, zip64Field } from '../../support/zip.ts'

// Tests how ZIP files are read. Malicious ones are in `test/attack/hostile-bundles.ts`.

const LIMITS = createLimits()
const MANIFEST: RawEntry = { name: 'solution.json', content: manifestText() }
const FILE = 'media/a.txt'

async function codesOf(packed: Uint8Array, limits = LIMITS): Promise<string[]> {
  const { bundle, faults } = await readBundle(packed, limits)
  expect(bundle === null).toBe(faults.length > 0)
  return faults.map(({ code }) => code)
}

/**
 * Reads a ZIP file that contains a valid manifest and these entries.
 * @returns the codes of the errors
 */
async function codesWith(entries: readonly RawEntry[], end: RawEnd = {}): Promise<string[]> {
  return codesOf(rawZip([MANIFEST, ...entries], end))
}

test('zip: the ZIP files that these tests build are valid unless a test changes them', async () => {
  const entries = [
    { name: FILE, content: 'hello' },
    { name: 'media/b.txt', content: 'hello', method: 8 },
    { name: 'media/c.txt', content: '' },
    { name: 'media/d.txt', content: '', method: 8 },
  ]
  const { bundle, faults } = await readBundle(rawZip([MANIFEST, ...entries]), LIMITS)
  expect(faults).toEqual([])
  expect([...(bundle?.media ?? [])].map(([name, bytes]) => [name, Buffer.from(bytes).toString()])).toEqual([
    ['a.txt', 'hello'],
    ['b.txt', 'hello'],
    ['c.txt', ''],
    ['d.txt', ''],
  ])
})

test('zip: an empty ZIP file has no manifest', async () => {
  expect(await codesOf(rawZip([]))).toEqual(['manifest_missing'])
})

test('zip: a comment at the end is ignored', async () => {
  expect(await codesWith([], { comment: Buffer.from('made by hand') })).toEqual([])
})

test('zip: real zip64 records are read', async () => {
  const file = { name: FILE, content: 'hello' }
  expect(await codesWith([file], { zip64: {} })).toEqual([])
  expect(await codesWith([file], { zip64: {}, entries: 0xffff, directoryOffset: 0xffffffff })).toEqual([])
})

test('zip: sizes in zip64 fields are read', async () => {
  const wide = { name: FILE, content: 'hello', size: 0xffffffff, packedSize: 0xffffffff }
  expect(await codesWith([{ ...wide, extra: zip64Field(5, 5) }])).toEqual([])
})

test.each([
  ['with signature', {}],
  ['without signature', { signature: false }],
  ['in zip64', { wide: true }],
  ['in zip64 without signature', { wide: true, signature: false }],
])('zip: a data descriptor %s is read', async (_case, options) => {
  const entry = { name: FILE, content: 'hello', flags: 8, descriptor: descriptorOf('hello', options) }
  const zeroes = { ...entry, name: 'media/b.txt', local: { crc: 0, size: 0, packedSize: 0 } }
  expect(await codesWith([entry, zeroes, { name: 'media/c.txt', content: 'end' }])).toEqual([])
})

test('zip: a long malicious name is truncated in the error', async () => {
  const { faults } = await readBundle(rawZip([MANIFEST, { name: '\u001b[31m'.repeat(10_000) }]), LIMITS)
  expect(faults.map(({ code }) => code)).toEqual(['name_invalid'])
  expect(JSON.stringify(faults).length).toBeLessThan(600)
})

test('zip: a name in a Unicode path field has no effect', async () => {
  const name = Buffer.from('solution.json')
  const field = Buffer.concat([Buffer.from([0x75, 0x70, 19, 0, 1]), Buffer.alloc(4), Buffer.from('media/b.txt..x')])
  field.writeUInt32LE(crc32(Buffer.from(FILE)), 5)
  const { bundle } = await readBundle(
    rawZip([
      { ...MANIFEST, name },
      { name: FILE, content: 'x', extra: field },
    ]),
    LIMITS,
  )
  expect([...(bundle?.media.keys() ?? [])]).toEqual(['a.txt'])
})
