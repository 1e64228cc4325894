import { readdirSync, readFileSync } from 'node:fs'
import { deflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Bundle } from '../../runtime/bundle/bundle.ts'
import { readBundle } from '../../runtime/bundle/read-bundle.ts'
import { createLimits } from '../../runtime/limits.ts'
import { bundleOf, type Files, manifestText, moduleFile, type RawEntry, rawZip, zip64Field } from '../support/zip.ts'
import { HOSTILE_BUNDLES, MANIFEST, MARKER } from './hostile-bundles.ts'

// Tests the errors for malicious bundles, and checks that unusual but harmless bundles are accepted.
// `uploads.flow.test.ts` sends the same bundles to a real host.

const LIMITS = createLimits()

test.each(HOSTILE_BUNDLES.map((hostile) => [hostile.does, hostile] as const))(
  'a bundle %s is rejected',
  async (_does, { make, codes }) => {
    const { bundle, faults } = await readBundle(await make(), LIMITS)
    expect(bundle).toBeNull()
    expect(faults.map(({ code }) => code)).toEqual(codes)
    for (const { file, message } of faults) {
      expect(file).toMatch(/^[\x20-\x7e…]{0,250}$/)
      expect(message).toMatch(/^[\x20-\x7e…’]{10,400}$/)
    }
  },
)

test('every entry in the list has a different description', () => {
  const sentences = HOSTILE_BUNDLES.map(({ does }) => does)
  expect(sentences.filter((does, index) => sentences.indexOf(does) !== index)).toEqual([])
})

/**
 * The reader receives bytes and returns bytes. It can't write files or open connections, because it doesn't import
 * anything that could.
 */
test('the bundle reader imports nothing that can write files, open connections or start processes', () => {
  const folder = new URL('../../runtime/bundle/', import.meta.url)
  const imported = [...readdirSync(folder), '../zod.ts'].flatMap((file) =>
    [...readFileSync(new URL(file, folder), 'utf8').matchAll(/ from '([^'.][^']*)'/g)].map(([, name]) => name),
  )
  expect([...new Set(imported)].sort()).toEqual([
    'croner',
    'node:crypto',
    'node:net',
    'node:timers/promises',
    'node:zlib',
    'yauzl',
    'zod',
  ])
  expect(readFileSync(new URL('manifest-schema.ts', folder), 'utf8')).toContain("import { isIPv6 } from 'node:net'")
})

test('a ZIP bomb with a false size uses no more memory than the stated size', async () => {
  const content = Buffer.alloc(60 * 1024 ** 2)
  const packed = rawZip([MANIFEST, { name: 'media/a', method: 8, content, size: 1000 }])
  const before = process.memoryUsage().arrayBuffers
  expect((await readBundle(packed, LIMITS)).bundle).toBeNull()
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 ** 2)
})

// --- unusual but harmless bundles ------------------------------------------------------------------------------------

async function read(packed: Uint8Array): Promise<Bundle> {
  const { bundle, faults } = await readBundle(packed, LIMITS)
  expect(faults).toEqual([])
  return bundle as Bundle
}

/** Reads a valid bundle with these additional entries. @returns the bundle's media files, by name */
async function mediaWith(...entries: RawEntry[]): Promise<Record<string, string>> {
  return mediaOf(rawZip([MANIFEST, ...entries]))
}

async function mediaOf(packed: Uint8Array): Promise<Record<string, string>> {
  const { media } = await read(packed)
  return Object.fromEntries([...media].map(([name, content]) => [name, Buffer.from(content).toString()]))
}

const A: RawEntry = { name: 'media/a.txt', content: 'A' }

test.each([
  ['names that Windows reserves for devices', ['CON', 'aux.txt', 'NUL', 'com1.js', 'LPT9', 'conin-']],
  ['names that end with dots', ['x.', 'x..', '...', '..x', 'x...js']],
  ['names of hidden files', ['.htaccess', '.env', '.well-known', '.git/config']],
  [
    'names of properties that every object has',
    ['__proto__', 'constructor', 'toString', 'x.__proto__', 'hasOwnProperty/valueOf'],
  ],
  ['names that look like options', ['-', '-rf', '--', '-.-']],
  ['the longest name and the most path segments', ['x'.repeat(234), `${'a/'.repeat(14)}x`]],
])('harmless: media files with %s are read with exactly these names, in memory', async (_case, names) => {
  const { media } = await read(rawZip([MANIFEST, ...names.map((name) => ({ name: `media/${name}`, content: name }))]))
  expect([...media].map(([name, content]) => [name, Buffer.from(content).toString()])).toEqual(
    [...names].sort().map((name) => [name, name]),
  )
})

test.each([0o100644, 0o100755, 0o104755, 0o107777, 0o644, 0o7777, 0])(
  'harmless: a regular file of mode %o is read, whatever its permissions',
  async (mode) => {
    expect(await mediaWith({ ...A, mode })).toEqual({ 'a.txt': 'A' })
  },
)

test('harmless: folder entries have no effect, wherever their paths point', async () => {
  const folders = ['../../', '/', '/etc/', 'C:/', '..\\/', `../${MARKER}/`, 'media/a.txt/', '\0/', 'media/\uff0e/']
  expect(await mediaWith(A, ...folders.map((name) => ({ name })))).toEqual({ 'a.txt': 'A' })
})

test('harmless: files that macOS adds are skipped without being unpacked, whatever they contain', async () => {
  const huge = { content: 'x', size: 0xffffffff, packedSize: 0xffffffff, extra: zip64Field(2 ** 50, 2 ** 50) }
  const skipped = ['__MACOSX/../../x', '__MACOSX/solution.json', 'media/.DS_Store'].map((name) => ({ name, ...huge }))
  expect(await mediaWith(A, ...skipped)).toEqual({ 'a.txt': 'A' })
})

test('harmless: a ZIP file in a ZIP file is an ordinary file, and is not opened', async () => {
  let inner = rawZip([{ name: '../x', method: 8, content: Buffer.alloc(20 * 1024 ** 2) }])
  for (let depth = 0; depth < 10; depth++) inner = rawZip([{ name: 'solution.json', content: inner }])
  const { media } = await read(rawZip([MANIFEST, { name: 'media/a.zip', content: inner }]))
  expect(inner.equals(media.get('a.zip') as Uint8Array)).toBe(true)
})

test('harmless: a local entry that is not in the central directory is not read', async () => {
  const hidden = rawZip([{ name: 'globals.js', content: 'hidden()' }])
  const gap = hidden.subarray(0, hidden.readUInt32LE(hidden.length - 6))
  const { scripts, media } = await read(
    rawZip([
      { ...MANIFEST, gap },
      { ...A, gap },
    ]),
  )
  expect([scripts, [...media.keys()]]).toEqual([[], ['a.txt']])
})

test('harmless: if a file contains two complete ZIP files, the one with the last end of central directory record is used', async () => {
  const outer = rawZip([MANIFEST, { ...A, content: 'outer' }])
  const inner = rawZip([
    { ...MANIFEST, gap: outer },
    { ...A, content: 'inner' },
  ])
  const commented = Buffer.from(inner)
  commented.writeUInt16LE(inner.length - outer.length, outer.length - 2)
  expect(await mediaOf(commented)).toEqual({ 'a.txt': 'inner' })
})

test('harmless: comments, extra fields and the disk number of an entry have no effect', async () => {
  const field = Buffer.concat([Buffer.from([0x75, 0x70, 10, 0, 1]), Buffer.alloc(4), Buffer.from('../xy')])
  const odd = { ...A, comment: Buffer.from('../../x\0'), disk: 7, extra: field, dosAttributes: 7 }
  expect(await mediaOf(rawZip([MANIFEST, odd], { comment: Buffer.alloc(65_535, 'x') }))).toEqual({ 'a.txt': 'A' })
})

test('harmless: a deflate stream of a hundred thousand empty blocks is an empty file', async () => {
  const blocks = Buffer.alloc(500_000, Buffer.from([0, 0, 0, 0xff, 0xff]))
  const packed = Buffer.concat([blocks, deflateRawSync('')])
  expect(await mediaWith({ name: 'media/a', content: '', method: 8, packed })).toEqual({ a: '' })
})

test('harmless: names of Object.prototype’s properties are ordinary names', async () => {
  const names = ['__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty']
  const manifest = {
    modules: ['constructor'],
    permissions: names,
    firstForm: '__proto__',
    oauth: JSON.parse('{"api":"Google","clientId":"x","toString":"a","hasOwnProperty":1}'),
  }
  const bundle = await read(
    await bundleOf(manifest, {
      ...moduleFile('constructor'),
      ...Object.fromEntries(names.map((name) => [`forms/${name}.json`, '{}'])),
      ...Object.fromEntries(names.map((name) => [`scopes/${name}.js`, '']).toReversed()),
    }),
  )
  expect(bundle.manifest.permissions).toEqual(names)
  expect({ ...bundle.manifest.oauth }).toEqual(manifest.oauth)
  expect(Object.getPrototypeOf(bundle.manifest.oauth)).toBeNull()
  expect(bundle.modules.map(({ name }) => name)).toEqual(['constructor'])
  expect(bundle.forms.map(({ form }) => form)).toEqual([...names].sort())
  expect(bundle.scripts.map(({ file }) => file)).toEqual([...names].sort().map((name) => `scopes/${name}.js`))
})

// --- modules that depend on each other --------------------------------------------------------------------------------

/**
 * Reads a solution that uses the modules in `first`. `graph` contains the modules that each module uses. @returns the
 * modules' names in the order in which they are loaded
 */
async function modulesOf(first: readonly string[], graph: Readonly<Record<string, readonly string[]>>) {
  const files: Files = Object.assign(
    {},
    ...Object.entries(graph).map(([name, modules]) => moduleFile(name, { modules })),
  )
  const { modules } = await read(await bundleOf({ modules: first }, files))
  return modules.map(({ name }) => name)
}

const many = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`)

test.each([
  ['itself', { a: ['a'] }, ['a']],
  ['another one that lists it', { a: ['b'], b: ['a'] }, ['b', 'a']],
  ['another one, in a cycle of three,', { a: ['b'], b: ['c', 'b'], c: ['a'] }, ['c', 'b', 'a']],
] as const)('modules: a module that lists %s is read once', async (_case, graph, order) => {
  expect(await modulesOf(['a'], graph)).toEqual(order)
})

test('modules: in a cycle of 400 modules, each is read once', async () => {
  const names = many(400)
  const ring = Object.fromEntries(names.map((name, index) => [name, [names[(index + 1) % 400] as string]]))
  expect(await modulesOf(['m0'], ring)).toEqual(names.toReversed())
})

test('modules: a chain of 400 modules is read to the end', async () => {
  const names = many(400)
  const chain = Object.fromEntries(names.map((name, index) => [name, names.slice(index + 1, index + 2)]))
  expect(await modulesOf(['m0'], chain)).toEqual(names.toReversed())
})

test('modules: in a graph of 24 layers with 2^24 paths, each module is read once', async () => {
  const graph: Record<string, string[]> = {}
  for (let layer = 0; layer < 24; layer++) {
    const below = layer < 23 ? [`a${layer + 1}`, `b${layer + 1}`] : []
    graph[`a${layer}`] = below
    graph[`b${layer}`] = below
  }
  const order = await modulesOf(['a0', 'b0'], graph)
  expect(order.slice(0, 3)).toEqual(['a23', 'b23', 'a22'])
  expect([order.length, new Set(order).size]).toEqual([48, 48])
})

test('modules: of 60 modules that all list each other, each is read once', async () => {
  const names = many(60)
  const order = await modulesOf(names, Object.fromEntries(names.map((name) => [name, names])))
  expect(order.toSorted()).toEqual(names.toSorted())
})

test('modules: a module cannot be reached through another module’s folder', async () => {
  const files = {
    ...moduleFile('a', { modules: ['b'] }),
    'modules/a/modules/b/solution.json': manifestText({ name: 'b', type: 'module' }),
  }
  const { faults } = await readBundle(await bundleOf({ modules: ['a'] }, files), LIMITS)
  expect(faults.map(({ code, file }) => `${code} ${file}`)).toEqual(['module_missing modules/a/solution.json'])
})
