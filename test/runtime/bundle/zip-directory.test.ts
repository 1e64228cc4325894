import { crc32, deflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readBundle } from '../../../runtime/bundle/read-bundle.ts'
import { createLimits } from '../../../runtime/limits.ts'
import {
  bundleOf,
  descriptorOf,
  manifestText,
  type RawEnd,
  type RawEntry,
  rawZip,
  zip64Field,
  zipOf,
} from '../../support/zip.ts'

const LIMITS = createLimits()
const MANIFEST: RawEntry = { name: 'solution.json', content: manifestText() }
const FILE = 'media/a.txt'

async function codesOf(packed: Uint8Array, limits = LIMITS): Promise<string[]> {
  const { bundle, faults } = await readBundle(packed, limits)
  expect(bundle === null).toBe(faults.length > 0)
  return faults.map(({ code }) => code)
}

/** The codes for a sound manifest followed by these entries. */
async function codesWith(entries: readonly RawEntry[], end: RawEnd = {}): Promise<string[]> {
  return codesOf(rawZip([MANIFEST, ...entries], end))
}

test('zip: the raw zips of this file are sound where nothing is said', async () => {
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

test.each([
  ['nothing', Buffer.alloc(0)],
  ['a text', Buffer.from('this is no zip, though it is long enough to be one')],
  ['a gzip file', Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, ...Array(40).fill(0)])],
  ['a zip cut at its end', rawZip([MANIFEST]).subarray(0, -1)],
  ['a zip cut at its start', rawZip([MANIFEST]).subarray(1)],
  ['a zip with bytes behind its end', Buffer.concat([rawZip([MANIFEST]), Buffer.from('x')])],
  ['a zip with bytes before its start', Buffer.concat([Buffer.from('x'), rawZip([MANIFEST])])],
])('zip: %s is zip_invalid', async (_case, packed) => {
  expect(await codesOf(packed)).toEqual(['zip_invalid'])
})

test('zip: an empty one has no manifest', async () => {
  expect(await codesOf(rawZip([]))).toEqual(['manifest_missing'])
})

test('zip: a comment at the end is ignored', async () => {
  expect(await codesWith([], { comment: Buffer.from('made by hand') })).toEqual([])
})

test.each([
  ['fewer entries', { entries: 1 }],
  ['more entries', { entries: 3 }],
  ['65,535 entries', { entries: 0xffff }],
  ['other entries on this disk', { entriesOnDisk: 1 }],
  ['a smaller directory', { directorySize: 10 }],
  ['a larger directory', { directorySize: 0xffffffff }],
  ['a directory somewhere else', { directoryOffset: 4 }],
  ['a directory behind the end', { directoryOffset: 0xffffffff }],
  ['zip64 with 2^64-1 entries', { zip64: { entries: 2n ** 64n - 1n } }],
  ['zip64 with fewer entries', { zip64: { entries: 1n } }],
  ['zip64 with fewer entries, hidden in the end record', { zip64: { entries: 1n }, entries: 0xffff }],
  ['zip64 with a directory far away', { zip64: { directoryOffset: 2n ** 63n } }],
  ['zip64 with a record far away', { zip64: { recordOffset: 2n ** 64n - 1n } }],
  ['zip64 with a record where none is', { zip64: { recordOffset: 0n } }],
] satisfies [string, RawEnd][])('zip: an end record that says %s is zip_invalid', async (_case, end) => {
  expect(await codesWith([{ name: FILE, content: 'hello' }], end)).toEqual(['zip_invalid'])
})

test('zip: true zip64 records are read', async () => {
  const file = { name: FILE, content: 'hello' }
  expect(await codesWith([file], { zip64: {} })).toEqual([])
  expect(await codesWith([file], { zip64: {}, entries: 0xffff, directoryOffset: 0xffffffff })).toEqual([])
})

test('zip: sizes in zip64 fields are compared', async () => {
  const wide = { name: FILE, content: 'hello', size: 0xffffffff, packedSize: 0xffffffff }
  expect(await codesWith([{ ...wide, extra: zip64Field(5, 5) }])).toEqual([])
  expect(await codesWith([{ ...wide, extra: zip64Field(5, 5), local: { extra: zip64Field(5, 4) } }])).toEqual([
    'zip_headers_differ',
  ])
  expect(await codesWith([{ ...wide, extra: zip64Field(5, 5), local: { extra: zip64Field(5) } }])).toEqual([
    'zip_headers_differ',
  ])
  expect(await codesWith([{ ...wide, extra: zip64Field(2 ** 52, 2 ** 52) }])).toEqual(['too_large'])
  expect(await codesWith([{ ...wide, extra: zip64Field(5) }])).toEqual(['zip_invalid'])
})

test.each([
  ['name', { local: { name: 'media/b.txt' } }],
  ['name length', { local: { name: 'media/a.tx' } }],
  ['method', { local: { method: 8 } }],
  ['flags', { local: { flags: 0x800 } }],
  ['CRC-32', { local: { crc: 1 } }],
  ['CRC-32 of zero', { local: { crc: 0 } }],
  ['packed size', { local: { packedSize: 4 } }],
  ['size', { local: { size: 4 } }],
  ['data descriptor', { flags: 8, descriptor: descriptorOf('other') }],
  ['data descriptor’s size', { flags: 8, descriptor: descriptorOf('hello', { size: 6 }) }],
  ['data descriptor’s packed size', { flags: 8, descriptor: descriptorOf('hello', { packedSize: 6 }) }],
  ['absent data descriptor', { flags: 8 }],
  ['CRC-32 beside a true data descriptor', { flags: 8, descriptor: descriptorOf('hello'), local: { crc: 5 } }],
  ['place', { offset: 3 }],
  ['place behind the end', { offset: 0xfffffff0 }],
] satisfies [string, RawEntry][])('zip: an entry whose headers differ in %s is refused', async (_case, entry) => {
  expect(await codesWith([{ name: FILE, content: 'hello', ...entry }])).toEqual(['zip_headers_differ'])
})

test.each([
  ['with signature', {}],
  ['without signature', { signature: false }],
  ['of zip64', { wide: true }],
  ['of zip64 without signature', { wide: true, signature: false }],
])('zip: a data descriptor %s is read', async (_case, options) => {
  const entry = { name: FILE, content: 'hello', flags: 8, descriptor: descriptorOf('hello', options) }
  const zeroes = { ...entry, name: 'media/b.txt', local: { crc: 0, size: 0, packedSize: 0 } }
  expect(await codesWith([entry, zeroes, { name: 'media/c.txt', content: 'end' }])).toEqual([])
})

test.each([
  ['a link', 0o120777],
  ['a folder', 0o040755],
  ['a device', 0o060644],
  ['a character device', 0o020644],
  ['a pipe', 0o010644],
  ['a socket', 0o140644],
])('zip: %s is zip_entry_kind', async (_case, mode) => {
  expect(await codesWith([{ name: FILE, content: '/etc/passwd', mode }])).toEqual(['zip_entry_kind'])
})

test('zip: a link as manifest is a link, not a missing manifest', async () => {
  expect(await codesOf(rawZip([{ ...MANIFEST, mode: 0o120777 }]))).toEqual(['zip_entry_kind'])
})

test('zip: a link is refused whatever system the zip says it was made on', async () => {
  expect(await codesWith([{ name: FILE, mode: 0o120777, madeBy: 0 }])).toEqual(['zip_entry_kind'])
  expect(await codesWith([{ name: FILE, mode: 0o120777, madeBy: 19 }])).toEqual(['zip_entry_kind'])
})

test('zip: regular files with and without a mode are read, run bits and all', async () => {
  expect(
    await codesWith([
      { name: FILE, mode: 0o100755 },
      { name: 'media/b', mode: 0 },
      { name: 'media/c', mode: 0o644 },
    ]),
  ).toEqual([])
})

test('zip: a folder with content is zip_entry_kind', async () => {
  expect(await codesWith([{ name: 'media/', content: 'x' }])).toEqual(['zip_entry_kind'])
})

test.each([
  ['encrypted', { flags: 1 }],
  ['strongly encrypted', { flags: 0x41 }],
  ['patched', { flags: 0x20 }],
  ['masked', { flags: 0x2000 }],
  ['shrunk', { method: 1 }],
  ['deflated by deflate64', { method: 9 }],
  ['packed by bzip2', { method: 12 }],
  ['packed by LZMA', { method: 14 }],
  ['packed by zstd', { method: 93 }],
  ['packed by AES', { method: 99 }],
] satisfies [string, RawEntry][])('zip: an entry that is %s is zip_entry_method', async (_case, entry) => {
  expect(await codesWith([{ name: FILE, content: 'hello', ...entry }])).toEqual(['zip_entry_method'])
})

test.each([
  '../solution.json',
  'media/../../x',
  '..',
  '.',
  './x',
  'media/./x',
  '..\\x',
  'media\\..\\x',
  'media\\x',
  '/etc/passwd',
  '//server/share',
  '\\\\server\\share',
  'C:/x',
  'C:x',
  'c:\\x',
  'media//x',
  'media/x\u0000.js',
  '\u0000',
  'media/%2e%2e/x',
  '%2e%2e%2fx',
  'media/\u2024\u2024/x',
  '\uff0e\uff0e/x',
  '..\u2215x',
  'media/..\u29f8x',
  'media/caf\u00e9.png',
  'media/cafe\u0301.png',
  'media/\u212aelvin',
  'media/x\u202egnp.js',
  'media/a b',
  'media/a\nb',
  'media/a:b',
  'media/a*b',
  'media/~x~',
  '',
  `media/${'x'.repeat(235)}`,
  `${'a/'.repeat(16)}x`,
])('zip: the name %j is name_invalid', async (name) => {
  const { faults } = await readBundle(rawZip([MANIFEST, { name, content: 'x' }]), LIMITS)
  expect(faults.map(({ code }) => code)).toEqual(['name_invalid'])
  expect(faults[0]?.message).toMatch(/^[\x20-\x7e’…]+$/)
})

test.each([[0x2e, 0xc0, 0xae], [0xff], [0xc0, 0xaf]])(
  'zip: a name of bytes that are not UTF-8 is name_invalid',
  async (...bytes) => {
    expect(await codesWith([{ name: Uint8Array.from([0x6d, ...bytes]), content: 'x', flags: 0x800 }])).toEqual([
      'name_invalid',
    ])
  },
)

test.each([
  `media/${'x'.repeat(234)}`,
  `media/${'a/'.repeat(14)}x`,
  'media/..x',
  'media/...',
  'media/.well-known',
  'media/-',
])('zip: the name "%s" is allowed', async (name) => {
  expect(await codesWith([{ name, content: 'x' }])).toEqual([])
})

test('zip: a long hostile name is cut in the answer', async () => {
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

test.each([
  ['the same name', FILE, FILE],
  ['another case', FILE, 'MEDIA/A.TXT'],
  ['a file and a folder', 'media', FILE],
  ['a folder and a file of another case', FILE, 'Media'],
])('zip: two files with %s are name_duplicate', async (_case, first, second) => {
  expect(
    await codesWith([
      { name: first, content: 'x' },
      { name: second, content: 'y' },
    ]),
  ).toEqual(['name_duplicate'])
})

test('zip: two manifests are name_duplicate, and neither is read', async () => {
  expect(await codesWith([{ name: 'Solution.json', content: '{}' }])).toEqual(['name_duplicate'])
})

test('zip: names equal in normal form are duplicates as well as invalid', async () => {
  expect(await codesWith([{ name: 'media/caf\u00e9' }, { name: 'media/cafe\u0301' }])).toEqual([
    'name_invalid',
    'name_invalid',
    'name_duplicate',
  ])
})

test.each([
  ['a wrong CRC-32', { crc: 1 }],
  ['a smaller size, deflated', { method: 8, size: 4 }],
  ['a larger size, deflated', { method: 8, size: 6 }],
  ['the size 0, deflated', { method: 8, size: 0 }],
  ['two sizes, stored', { size: 4 }],
  ['a cut deflate stream', { method: 8, packed: deflateRawSync('hello').subarray(0, -2) }],
  [
    'bytes behind the deflate stream',
    { method: 8, packed: Buffer.concat([deflateRawSync('hello'), Buffer.from('x')]) },
  ],
  ['no deflate stream', { method: 8, packed: Buffer.from([0xff, 0xff, 0xff]) }],
  ['an empty deflate stream', { method: 8, packed: Buffer.alloc(0) }],
] satisfies [string, RawEntry][])('zip: an entry with %s is zip_content', async (_case, entry) => {
  expect(await codesWith([{ name: FILE, content: 'hello', ...entry }])).toEqual(['zip_content'])
})

test('zip: entries that share one local header are refused', async () => {
  const shared = Array.from({ length: 3 }, () => ({
    name: FILE,
    content: 'x',
    directoryOnly: true,
    offset: rawZip([MANIFEST]).indexOf('PK\u0001'),
  }))
  const codes = await codesWith([{ name: FILE, content: 'x' }, ...shared])
  expect(codes).toEqual([
    'zip_content',
    'zip_content',
    'zip_content',
    'name_duplicate',
    'name_duplicate',
    'name_duplicate',
  ])
})

test('zip: a bomb of overlapping entries is refused before anything is unpacked', async () => {
  // Each entry's stored data hold the whole local entries behind it, so that all end in the same bytes.
  const kernel = deflateRawSync(Buffer.alloc(1_000_000))
  let tail = rawEntryBytes({ name: 'media/z', method: 8, packed: kernel, content: Buffer.alloc(1_000_000) })
  const nested: RawEntry[] = []
  for (let i = 0; i < 20; i++) {
    const entry = { name: `media/${i}`, content: tail }
    nested.unshift(entry)
    tail = rawEntryBytes(entry)
  }
  const at = (entry: RawEntry) => tail.length - rawEntryBytes(entry).length
  const entries = nested.map((entry, index) => ({ ...entry, directoryOnly: index > 0, offset: at(entry) }))
  const { faults } = await readBundle(rawZip([...entries, MANIFEST]), LIMITS)
  expect(new Set(faults.map(({ code }) => code))).toEqual(new Set(['zip_content']))
  expect(faults).toHaveLength(19)
})

test('zip: an entry that reaches into the directory is refused', async () => {
  const content = 'x'.repeat(200)
  const short = { name: FILE, content: 'x', packedSize: 60, size: 60, crc: crc32(content) }
  expect(await codesOf(rawZip([MANIFEST, short]))).toEqual(['zip_content'])
})

test('zip: a bomb of high ratio that says its size is too_large', async () => {
  const content = Buffer.alloc(60 * 1024 * 1024)
  const packed = rawZip([MANIFEST, { name: FILE, method: 8, content }])
  expect(packed.length).toBeLessThan(100_000)
  expect(await codesOf(packed)).toEqual(['too_large'])
})

test('zip: a bomb of high ratio that lies is stopped at the size it says', async () => {
  const content = Buffer.alloc(60 * 1024 * 1024)
  const packed = rawZip([MANIFEST, { name: FILE, method: 8, content, size: 1000 }])
  const before = process.memoryUsage().arrayBuffers
  const reading = readBundle(packed, LIMITS)
  expect((await reading).faults.map(({ code }) => code)).toEqual(['zip_content'])
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024)
})

test('zip: many bombs, each within its file’s limit, are too_large together', async () => {
  const content = Buffer.alloc(1024 * 1024)
  const bombs = Array.from({ length: 51 }, (_, index) => ({ name: `scopes/s${index}.js`, method: 8, content }))
  expect(await codesWith(bombs)).toEqual(['too_large'])
})

test('zip: random bytes never throw', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
      expect((await readBundle(bytes, LIMITS)).bundle).toBeNull()
    }),
    { numRuns: 300 },
  )
})

test('zip: a valid one with bits flipped, bytes cut, doubled or overwritten never throws and stays bounded', async () => {
  const valid = [
    await bundleOf(
      { modules: ['a'] },
      { 'globals.js': 'let a'.repeat(50), 'modules/a/solution.json': manifestText({ name: 'a', type: 'module' }) },
    ),
    await zipOf({ 'solution.json': manifestText(), 'media/a.txt': 'hello' }, { compress: false }),
    rawZip([MANIFEST, { name: FILE, content: 'hello', flags: 8, descriptor: descriptorOf('hello') }], { zip64: {} }),
  ]
  const limits = createLimits({ BUNDLE_SIZE: 4096, BUNDLE_UNPACKED: 4096, BUNDLE_FILES: 10 })
  const change = fc.record({
    kind: fc.constantFrom('flip', 'cut', 'double', 'ones', 'zero'),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.integer({ min: 1, max: 8 }),
    bit: fc.integer({ min: 0, max: 7 }),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...valid),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      async (zip, changes) => {
        let bytes = Buffer.from(zip)
        for (const each of changes) bytes = mutated(bytes, each)
        const { bundle, faults } = await readBundle(bytes, limits)
        expect(bundle === null).toBe(faults.length > 0)
        expect(faults.length).toBeLessThanOrEqual(101)
      },
    ),
    { numRuns: 1500 },
  )
})

function mutated(
  bytes: Buffer,
  change: { kind: string; at: number; length: number; bit: number },
): Buffer<ArrayBuffer> {
  const at = Math.floor(change.at * Math.max(0, bytes.length - 1))
  const end = Math.min(bytes.length, at + change.length)
  if (change.kind === 'cut') return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)])
  if (change.kind === 'double') return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)])
  const copy = Buffer.from(bytes)
  if (change.kind === 'flip' && at < copy.length) copy[at] = (copy[at] as number) ^ (1 << change.bit)
  else copy.fill(change.kind === 'ones' ? 0xff : 0, at, end)
  return copy
}

/** An entry's local header and data alone. */
function rawEntryBytes(entry: RawEntry): Buffer {
  const zip = rawZip([entry])
  return zip.subarray(0, zip.readUInt32LE(zip.length - 6))
}
