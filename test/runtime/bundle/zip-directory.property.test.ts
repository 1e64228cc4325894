import { crc32, inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Bundle } from '../../../runtime/bundle/bundle.ts'
import { type BundleReading, readBundle } from '../../../runtime/bundle/read-bundle.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import {
  bundleOf,
  descriptorOf,
  manifestText,
  moduleFile,
  type RawEntry,
  rawZip,
  zip64Field,
  zipOf,
} from '../../support/zip.ts'

const SEED = 20_260_101
const LIMITS = createLimits({ BUNDLE_SIZE: 8192, BUNDLE_UNPACKED: 8192, BUNDLE_FILES: 20 })
const MANIFEST: RawEntry = { name: 'solution.json', content: manifestText() }

/** How a file is stored in a ZIP archive. All combinations are valid. */
type Way = {
  readonly deflated: boolean
  readonly descriptor: 'none' | 'signed' | 'plain' | 'wide'
  readonly zeroed: boolean
  readonly zip64: boolean
  readonly gap: number
}
const Way = fc.record<Way>({
  deflated: fc.boolean(),
  descriptor: fc.constantFrom('none', 'none', 'signed', 'plain', 'wide'),
  zeroed: fc.boolean(),
  zip64: fc.boolean(),
  gap: fc.constantFrom(0, 0, 0, 1, 30, 500),
})
const Segment = fc
  .string({ unit: fc.constantFrom(...'abcXYZ019._-'), minLength: 1, maxLength: 8 })
  .filter((segment) => segment !== '.' && segment !== '..')
const Name = fc.array(Segment, { minLength: 1, maxLength: 4 }).map((segments) => `media/${segments.join('/')}`)
const Content = fc.oneof(
  fc.uint8Array({ maxLength: 60 }),
  fc.tuple(fc.nat(255), fc.nat(2000)).map(([byte, length]) => new Uint8Array(length).fill(byte)),
)
const File = fc.record({ name: Name, content: Content, way: Way })
/** Generates lists of files. No two names are equal when case is ignored, and no name is a parent folder of another. */
const FileList = fc.uniqueArray(File, { maxLength: 6, selector: ({ name }) => name.toLowerCase() }).filter((files) => {
  const names = files.map(({ name }) => `${name.toLowerCase()}/`)
  return !names.some((name) => names.some((other) => other !== name && other.startsWith(name)))
})

function entryOf({ name, content, way }: { name: string; content: Uint8Array; way: Way }): RawEntry {
  const plain: RawEntry = { name, content, method: way.deflated ? 8 : 0, gap: new Uint8Array(way.gap).fill(0x50) }
  if (way.descriptor === 'none') return way.zip64 ? inZip64(plain, content) : plain
  const packedSize = rawZip([plain]).readUInt32LE(way.gap + 18)
  const descriptor = descriptorFor(content, packedSize, way.descriptor)
  const local = way.zeroed ? { crc: 0, size: 0, packedSize: 0 } : {}
  return { ...plain, flags: 8, descriptor, local }
}

function inZip64(plain: RawEntry, content: Uint8Array): RawEntry {
  const packedSize = rawZip([plain]).readUInt32LE((plain.gap?.length ?? 0) + 18)
  return { ...plain, size: 0xffffffff, packedSize: 0xffffffff, extra: zip64Field(content.length, packedSize) }
}

function descriptorFor(content: Uint8Array, packedSize: number, form: 'signed' | 'plain' | 'wide'): Buffer {
  const options = { crc: crc32(content), size: content.length, packedSize }
  return descriptorOf('', { ...options, signature: form !== 'plain', wide: form === 'wide' })
}

test('zip: files are read as they were packed, however they are stored', async () => {
  const Zip = fc.record({ files: FileList, zip64: fc.boolean(), comment: fc.uint8Array({ maxLength: 20 }) })
  await fc.assert(
    fc.asyncProperty(Zip, async ({ files, zip64, comment }) => {
      const packed = rawZip([MANIFEST, ...files.map(entryOf)], { comment, ...(zip64 ? { zip64: {} } : {}) })
      const { bundle, faults } = await readBundle(packed, createLimits())
      expect(faults).toEqual([])
      expect(mediaOf(bundle)).toEqual(
        new Map(files.map(({ name, content }): [string, string] => [name, Buffer.from(content).toString('hex')])),
      )
    }),
    { numRuns: propertyRuns(1500), seed: SEED },
  )
})

test('zip: files packed by an ordinary ZIP program are read as they were packed', async () => {
  await fc.assert(
    fc.asyncProperty(FileList, fc.boolean(), async (files, compress) => {
      const named = Object.fromEntries(files.map(({ name, content }) => [name, content]))
      const { bundle, faults } = await readBundle(
        await zipOf({ 'solution.json': manifestText(), ...named }, { compress }),
        createLimits(),
      )
      expect(faults).toEqual([])
      expect(mediaOf(bundle).size).toBe(files.length)
      for (const { name, content } of files)
        expect(mediaOf(bundle).get(name)).toBe(Buffer.from(content).toString('hex'))
    }),
    { numRuns: propertyRuns(300), seed: SEED },
  )
})

test('zip: random bytes never cause an exception, with or without an end of central directory record', async () => {
  const end = rawZip([]).subarray(-22)
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (bytes, isEnded) => {
      const reading = await readBundle(isEnded ? Buffer.concat([bytes, end]) : bytes, LIMITS)
      expect(reading.bundle).toBeNull()
      checkBounds(reading)
    }),
    { numRuns: propertyRuns(1000), seed: SEED },
  )
})

test('zip: if bytes are flipped, cut, doubled, moved or overwritten, it never throws and returns only declared files', async () => {
  const valid = [
    await bundleOf(
      { modules: ['a'] },
      { 'globals.js': 'let a'.repeat(50), 'media/a.txt': 'hello', ...moduleFile('a') },
    ),
    await zipOf({ 'solution.json': manifestText(), 'media/a.txt': 'hello', 'media/b/': '' }, { compress: false }),
    rawZip([MANIFEST, { name: 'media/a.txt', content: 'hello', flags: 8, descriptor: descriptorOf('hello') }], {
      zip64: {},
      comment: Buffer.from('comment'),
    }),
    rawZip([
      MANIFEST,
      { name: 'media/a.txt', content: 'a' },
      { name: 'media/b.txt', content: 'b'.repeat(500), method: 8 },
    ]),
  ]
  const change = fc.record<Change>({
    kind: fc.constantFrom('flip', 'cut', 'double', 'move', 'ones', 'zero', 'number'),
    from: fc.double({ min: 0, max: 1, noNaN: true }),
    to: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.integer({ min: 1, max: 60 }),
    value: fc.constantFrom(0, 1, 2, 8, 0x14, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff),
  })
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...valid),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      async (zip, changes) => {
        const bytes = changes.reduce(mutated, Buffer.from(zip))
        const reading = await readBundle(bytes, LIMITS)
        checkBounds(reading)
        if (reading.bundle === null) return
        accepted++
        checkDeclared(reading.bundle, bytes)
      },
    ),
    { numRuns: propertyRuns(6000), seed: SEED },
  )
  expect(accepted).toBeGreaterThan(propertyRuns(100))
})

test('zip: if numbers are replaced by others, it never throws and returns only declared files', async () => {
  const zip = rawZip([
    MANIFEST,
    { name: 'media/a.txt', content: 'hello' },
    { name: 'media/b.txt', content: 'hello', method: 8 },
  ])
  const numbers = fc.array(
    fc.tuple(fc.nat(zip.length - 4), fc.constantFrom(1, 2, 4), fc.oneof(fc.nat(zip.length), fc.nat(0xffffffff))),
    { minLength: 1, maxLength: 3 },
  )
  await fc.assert(
    fc.asyncProperty(numbers, async (changes) => {
      const bytes = Buffer.from(zip)
      for (const [at, size, value] of changes) bytes.writeUIntLE(value % 2 ** (8 * size), at, size)
      const reading = await readBundle(bytes, LIMITS)
      checkBounds(reading)
      if (reading.bundle !== null) checkDeclared(reading.bundle, bytes)
    }),
    { numRuns: propertyRuns(4000), seed: SEED },
  )
})

/**
 * Expects either errors or a bundle, not both. Checks that the number of errors and the bundle's size are within the
 * limits.
 */
function checkBounds({ bundle, faults, warnings }: BundleReading): void {
  expect(bundle === null).toBe(faults.length > 0)
  expect(faults.length).toBeLessThanOrEqual(101)
  expect(warnings.length).toBeLessThanOrEqual(101)
  if (bundle === null) return
  const sizes = [...bundle.media.values()].map((content) => content.length)
  expect(sizes.length + bundle.scripts.length).toBeLessThan(LIMITS.BUNDLE_FILES)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(LIMITS.BUNDLE_UNPACKED)
}

/**
 * Compares the bundle with the entries in the ZIP file's central directory. `readDeclared` reads them without the code
 * under test.
 */
function checkDeclared(bundle: Bundle, zip: Buffer): void {
  const declared = readDeclared(zip)
  for (const [name, content] of mediaOf(bundle)) expect([name, content]).toEqual([name, declared.get(name)])
  for (const { file, source } of bundle.scripts) {
    expect([file, Buffer.from(source).toString('hex')]).toEqual([file, declared.get(file)])
  }
}

/**
 * Reads the central directory as Python's zipfile does. The end of central directory record states the directory's
 * length. The directory ends where that record begins.
 */
function readDeclared(zip: Buffer): Map<string, string> {
  const declared = new Map<string, string>()
  const end = zip.lastIndexOf(Buffer.from('PK\u0005\u0006'))
  const hasZip64 = end >= 76 && zip.readUInt32LE(end - 20) === 0x07064b50
  const directoryEnd = hasZip64 ? end - 76 : end
  let at = directoryEnd - (hasZip64 ? Number(zip.readBigUInt64LE(end - 36)) : zip.readUInt32LE(end + 12))
  while (at < directoryEnd) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
    ]
    const name = zip.subarray(at + 46, at + 46 + nameLength).toString()
    const local = zip.readUInt32LE(at + 42)
    const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
    const packed = zip.subarray(start, start + zip.readUInt32LE(at + 20))
    const isRead = name.startsWith('media/') || name.endsWith('.js')
    if (isRead && !name.endsWith('/')) {
      const content = zip.readUInt16LE(at + 10) === 8 ? inflateRawSync(packed) : packed
      expect(crc32(content)).toBe(zip.readUInt32LE(at + 16))
      declared.set(name, content.toString('hex'))
    }
    at += 46 + nameLength + extraLength + commentLength
  }
  return declared
}

function mediaOf(bundle: Bundle | null): Map<string, string> {
  const named = [...(bundle?.media ?? [])].map(([name, content]): [string, string] => [
    `media/${name}`,
    Buffer.from(content).toString('hex'),
  ])
  return new Map(named)
}

type Change = {
  readonly kind: 'flip' | 'cut' | 'double' | 'move' | 'ones' | 'zero' | 'number'
  readonly from: number
  readonly to: number
  readonly length: number
  readonly value: number
}

function mutated(bytes: Buffer<ArrayBuffer>, change: Change): Buffer<ArrayBuffer> {
  const at = Math.floor(change.from * Math.max(0, bytes.length - 1))
  const to = Math.floor(change.to * Math.max(0, bytes.length - 1))
  const end = Math.min(bytes.length, at + change.length)
  const copy = Buffer.from(bytes)
  switch (change.kind) {
    case 'cut':
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)])
    case 'double':
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)])
    case 'move':
      bytes.copy(copy, to, at, end)
      return copy
    case 'number':
      if (at + 4 <= copy.length) copy.writeUInt32LE(change.value, at)
      return copy
    case 'flip':
      if (at < copy.length) copy[at] = (copy[at] as number) ^ (1 << (change.value & 7))
      return copy
    default:
      copy.fill(change.kind === 'ones' ? 0xff : 0, at, end)
      return copy
  }
}
