import { crc32, deflateRawSync } from 'node:zlib'
import type { FaultCode } from '../../runtime/bundle/faults.ts'
import {
  descriptorOf,
  type Files,
  manifestText,
  moduleFile,
  type RawEnd,
  type RawEntry,
  rawZip,
  zip64Field,
  zipOf,
} from '../support/zip.ts'

// The malicious bundles that the host itself must reject, each with a description and the expected error codes in
// order. `bundles.test.ts` reads each bundle, and `uploads.flow.test.ts` sends each to a real host.

export type HostileBundle = {
  /** The description, which completes "a bundle …". */
  readonly does: string
  readonly make: () => Uint8Array | Promise<Uint8Array>
  readonly codes: readonly FaultCode[]
}

/** Part of the names of files that must never be written to disk. */
export const MARKER = 'solhost-escape'
export const NAME = 'crm'

const MEGABYTE = 1024 ** 2
const SOUND = manifestText({ authenticator: 'NONE' })
export const MANIFEST: RawEntry = { name: 'solution.json', content: SOUND }
const FILE = 'media/a.txt'

/** Returns the codes of a full list of errors: a hundred errors, and an entry for the errors that are not listed. */
function hundred(...codes: readonly [...FaultCode[], FaultCode]): readonly FaultCode[] {
  const last = codes.at(-1) as FaultCode
  return [...codes, ...Array<FaultCode>(100 - codes.length).fill(last), 'more_faults']
}

function row(does: string, codes: FaultCode | readonly FaultCode[], make: HostileBundle['make']): HostileBundle {
  return { does, codes: typeof codes === 'string' ? [codes] : codes, make }
}

// --- names -------------------------------------------------------------------------------------------------------------

const NAMES: Readonly<Record<string, readonly (string | readonly number[])[]>> = {
  'leaves its folder': [
    `../${MARKER}`,
    '../solution.json',
    `../../../../../../../../tmp/${MARKER}`,
    `media/../../${MARKER}`,
    'media/../solution.json',
    'media/..',
    '..',
  ],
  'names the folder that it is in': ['.', './x', './solution.json', 'media/.', 'media/./x'],
  'has empty parts': ['', 'media//x', 'media///x'],
  'starts at the root': ['/etc/passwd', `/tmp/${MARKER}`, '/solution.json', '//server/share/x', '///x'],
  'uses backslashes': [
    `..\\${MARKER}`,
    'media\\..\\..\\x',
    'media\\x',
    '\\x',
    'media/..\\x',
    '\\\\server\\share\\x',
    '\\\\?\\C:\\x',
    '\\\\.\\pipe\\x',
  ],
  'names a drive, a stream or an address': [
    'C:/x',
    'C:x',
    'c:\\x',
    'media/C:/x',
    'media/x.js:stream',
    'media/x::$DATA',
    'file:///etc/passwd',
    'https://evil.example/x',
  ],
  'has zero and other control characters': [
    'media/x\0.js',
    '\0',
    `..\0/${MARKER}`,
    'media/a\nb',
    'media/a\rb',
    'media/\u001b[2Jx',
    'media/\u007f',
    'media/\u0085',
    'media/a\u2028b',
  ],
  'hides dots and slashes in percent signs': [
    `%2e%2e/${MARKER}`,
    'media/%2e%2e/x',
    '%2e%2e%2fx',
    'media/%252e%252e/x',
    'media/x%00.js',
    '..%c0%afx',
    '%5c..%5cx',
    'media/%u002e%u002e/x',
  ],
  'has overlong or broken UTF-8': [
    [0xc0, 0xae, 0xc0, 0xae, 0x2f, 0x78],
    [0x2e, 0x2e, 0xc0, 0xaf, 0x78],
    [0xe0, 0x80, 0xae, 0x78],
    [0xf0, 0x80, 0x80, 0xae, 0x78],
    [0xe0, 0x80, 0xaf, 0x78],
    [0x6d, 0xff],
    [0x6d, 0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0xfe, 0xff, 0x00, 0x2e],
    [0x2e, 0x00, 0x2e, 0x00, 0x2f, 0x00, 0x78, 0x00],
    [0x63, 0x61, 0x66, 0x82],
  ],
  'looks like dots and slashes': [
    'media/\u2024\u2024/x',
    'media/\u2025/x',
    '\u2026/x',
    '\uff0e\uff0e/x',
    '\uff0e\uff0e\uff0fx',
    '..\uff0fx',
    '..\u2215x',
    '..\u2044x',
    'media/..\u29f8x',
    '..\uff3cx',
    '..\u2216x',
    '\ufe52\ufe52/x',
    '\u3002\u3002/x',
  ],
  'is displayed as another name': [
    'media/x\u202egnp.js',
    'media/a\u200bb',
    '\ufeffsolution.json',
    'media/\u00adx',
    'media/\u212aelvin',
    'media/p\u0430ypal.html',
    'media/caf\u00e9.png',
    'media/cafe\u0301.png',
    'media/\u{1f4a9}',
    'media/\u{e0041}',
  ],
  'ends or starts with a space': ['media/x ', ' media/x', 'media /x', `.. /${MARKER}`, '../ x', 'solution.json '],
  'is a pattern, a variable or a command': [
    'media/*',
    'media/?',
    'media/<x>',
    'media/a|b',
    'media/"x"',
    '~/x',
    '~root/.ssh/authorized_keys',
    '$HOME/x',
    '%TEMP%/x',
    `media/$(touch ${MARKER})`,
    `media/\`touch ${MARKER}\``,
    `media/;touch ${MARKER}`,
  ],
  'has a very long name': [
    `media/${'x'.repeat(235)}`,
    `${'a/'.repeat(16)}x`,
    'x'.repeat(65_535),
    `${'../'.repeat(21_000)}x`,
    '\u001b[31m'.repeat(10_000),
  ],
}

const names: readonly HostileBundle[] = Object.entries(NAMES).flatMap(([does, those]) =>
  those.map((name) => {
    const bytes = Buffer.from(name as string)
    const shown = JSON.stringify(typeof name === 'string' ? name.slice(0, 60) : bytes.toString('hex')).replace(
      /[^ -~]/g,
      (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    // The flag 0x800 means that the name is UTF-8.
    const make = () => rawZip([MANIFEST, { name: bytes, content: 'x', flags: 0x800 }])
    return row(`with a file whose name ${does}: ${shown}`, 'name_invalid', make)
  }),
)

// --- headers -----------------------------------------------------------------------------------------------------------

const HELLO: RawEntry = { name: FILE, content: 'hello' }

function entry(does: string, codes: FaultCode | readonly FaultCode[], change: RawEntry): HostileBundle {
  return row(does, codes, () => rawZip([MANIFEST, { ...HELLO, ...change }]))
}

function differing(what: string, change: RawEntry): HostileBundle {
  return entry(`whose two headers differ in ${what}`, 'zip_headers_differ', change)
}

const headers: readonly HostileBundle[] = [
  differing('the name', { local: { name: 'media/b.txt' } }),
  differing('the name, one of which leaves the folder', { local: { name: '../media.txt' } }),
  differing('the length of the name', { local: { name: 'media/a.tx' } }),
  differing('the case of the name', { local: { name: 'media/A.txt' } }),
  differing('the method', { local: { method: 8 } }),
  differing('the flags', { local: { flags: 0x800 } }),
  differing('the flag of encryption', { local: { flags: 1 } }),
  differing('the CRC-32', { local: { crc: 1 } }),
  differing('the CRC-32, which is zero in one', { local: { crc: 0 } }),
  differing('the packed size', { local: { packedSize: 4 } }),
  differing('the size', { local: { size: 4 } }),
  differing('the size, which is 4 GB in one', { local: { size: 0xffffffff, packedSize: 0xffffffff } }),
  differing('the size, which is 2^63 in one', {
    local: { size: 0xffffffff, extra: Buffer.from([1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 128]) },
  }),
  differing('the data descriptor', { flags: 8, descriptor: descriptorOf('other') }),
  differing('the data descriptor’s size', { flags: 8, descriptor: descriptorOf('hello', { size: 6 }) }),
  differing('the data descriptor’s packed size', { flags: 8, descriptor: descriptorOf('hello', { packedSize: 6 }) }),
  differing('a missing data descriptor', { flags: 8 }),
  differing('the CRC-32, with a correct data descriptor', {
    flags: 8,
    descriptor: descriptorOf('hello'),
    local: { crc: 5 },
  }),
  differing('their offset', { offset: 3 }),
  differing('their offset, which is after the end', { offset: 0xfffffff0 }),
  differing('their offset, which is in the directory', { offset: rawZip([MANIFEST, HELLO]).indexOf('PK\u0001\u0002') }),
  differing('the sizes of their zip64 fields', {
    size: 0xffffffff,
    packedSize: 0xffffffff,
    extra: zip64Field(5, 5),
    local: { extra: zip64Field(5, 4) },
  }),
  differing('the length of their zip64 fields', {
    size: 0xffffffff,
    packedSize: 0xffffffff,
    extra: zip64Field(5, 5),
    local: { extra: zip64Field(5) },
  }),
  entry('with a manifest whose other header has a different offset', 'zip_headers_differ', {
    name: 'media/x.json',
    local: { name: 'solution.json' },
  }),
]

// --- kinds and methods -------------------------------------------------------------------------------------------------

function kind(what: string, change: RawEntry): HostileBundle {
  return entry(`with ${what}`, 'zip_entry_kind', { content: '/etc/passwd', ...change })
}

const kinds: readonly HostileBundle[] = [
  kind('a link', { mode: 0o120777 }),
  kind('a link marked as created by MS-DOS', { mode: 0o120777, madeBy: 0 }),
  kind('a link marked as created on a Mac', { mode: 0o120777, madeBy: 19 }),
  kind('a link that is deflated', { mode: 0o120777, method: 8 }),
  kind('a folder that is a file', { mode: 0o040755 }),
  kind('a file marked as a folder by MS-DOS attributes', { dosAttributes: 0x10, madeBy: 0 }),
  kind('a block device', { mode: 0o060644 }),
  kind('a character device', { mode: 0o020644 }),
  kind('a pipe', { mode: 0o010644 }),
  kind('a socket', { mode: 0o140644 }),
  kind('a door', { mode: 0o150644 }),
  kind('a whiteout', { mode: 0o160000 }),
  kind('all bits of the mode', { mode: 0o177777 }),
  row('with a link as manifest', 'zip_entry_kind', () =>
    rawZip([{ ...MANIFEST, content: '../../x.json', mode: 0o120777 }]),
  ),
  entry('with a folder that has content', 'zip_entry_kind', { name: 'media/', content: 'x' }),
]

function method(what: string, change: RawEntry): HostileBundle {
  return entry(`with an entry that is ${what}`, 'zip_entry_method', change)
}

const methods: readonly HostileBundle[] = [
  method('encrypted', { flags: 1 }),
  method('encrypted, with a data descriptor', { flags: 9, descriptor: descriptorOf('hello') }),
  method('strongly encrypted', { flags: 0x41 }),
  method('patched', { flags: 0x20 }),
  method('masked', { flags: 0x2000 }),
  ...[
    [1, 'shrunk'],
    [2, 'reduced'],
    [6, 'imploded'],
    [9, 'packed by Deflate64'],
    [12, 'packed by bzip2'],
    [14, 'packed by LZMA'],
    [20, 'packed by zstd under its old number'],
    [93, 'packed by zstd'],
    [95, 'packed by xz'],
    [98, 'packed by PPMd'],
    [99, 'packed by AES'],
    [0xffff, 'packed by a method that does not exist'],
  ].map(([number, what]) => method(String(what), { method: Number(number) })),
]

// --- duplicates --------------------------------------------------------------------------------------------------------

function pair(what: string, first: string, second: string, codes: readonly FaultCode[]): HostileBundle {
  const entries = [first, second].map((name, index) => ({ name, content: `${index}` }))
  return row(`with two files whose names are ${what}`, codes, () => rawZip([MANIFEST, ...entries]))
}

const INVALID_TWICE = ['name_invalid', 'name_invalid'] as const
const duplicates: readonly HostileBundle[] = [
  pair('the same', FILE, FILE, ['name_duplicate']),
  pair('the same except for case', FILE, 'MEDIA/A.TXT', ['name_duplicate']),
  pair('a file and a folder', 'media', FILE, ['name_duplicate']),
  pair('a file and a folder that differ in case', FILE, 'Media', ['name_duplicate']),
  pair('a script and a folder', 'globals.js', 'globals.js/x', ['name_duplicate']),
  pair('the same in NFC and NFD', 'media/caf\u00e9', 'media/cafe\u0301', [...INVALID_TWICE, 'name_duplicate']),
  pair('the same with combining marks in another order', 'media/a\u0323\u0307', 'media/a\u0307\u0323', [
    ...INVALID_TWICE,
    'name_duplicate',
  ]),
  pair('Kelvin’s sign and k', 'media/\u212a', 'media/k', ['name_invalid', 'name_duplicate']),
  pair('sharp s and ss', 'media/\u00df', 'media/ss', ['name_invalid']),
  pair('capital and small sharp s', 'media/\u1e9e', 'media/\u00df', [...INVALID_TWICE, 'name_duplicate']),
  pair('Turkish dotted I and i', 'media/\u0130', 'media/i', ['name_invalid']),
  pair('Turkish dotless i and I', 'media/\u0131', 'media/I', ['name_invalid']),
  pair('a ligature and its letters', 'media/\ufb01', 'media/fi', ['name_invalid']),
  pair('fullwidth and ASCII', 'media/\uff41', 'media/a', ['name_invalid']),
  row('with a second manifest whose name differs in case', 'name_duplicate', () =>
    rawZip([MANIFEST, { name: 'Solution.json', content: '{}' }]),
  ),
  row('with the same manifest twice', 'name_duplicate', () => rawZip([MANIFEST, MANIFEST])),
  row('with one script in two languages', ['name_duplicate', 'name_duplicate'], () =>
    rawZip([
      MANIFEST,
      ...['globals.js', 'globals.ts', 'forms/f.js', 'forms/f.ts'].map((name) => ({ name })),
      { name: 'forms/f.json', content: '{}' },
    ]),
  ),
  row('with 500 pairs of names that differ only in case', hundred('name_duplicate'), () => {
    const twice = Array.from({ length: 500 }, (_, index) => [`media/f${index}`, `media/F${index}`])
    return rawZip([MANIFEST, ...twice.flat().map((name) => ({ name }))])
  }),
]

// --- bombs, and content that differs from its description -------------------------------------------------------------

const HELLO_DEFLATED = deflateRawSync('hello')
const content: readonly HostileBundle[] = [
  entry('with a wrong CRC-32', 'zip_content', { crc: 1 }),
  entry('that unpacks to more than its stated size', 'zip_content', { method: 8, size: 4 }),
  entry('that unpacks to less than its stated size', 'zip_content', { method: 8, size: 6 }),
  entry('that unpacks to something though its stated size is 0', 'zip_content', { method: 8, size: 0 }),
  entry('stored with two sizes', 'zip_content', { size: 4 }),
  entry('with a cut deflate stream', 'zip_content', { method: 8, packed: HELLO_DEFLATED.subarray(0, -2) }),
  entry('with bytes after its deflate stream', 'zip_content', {
    method: 8,
    packed: Buffer.concat([HELLO_DEFLATED, Buffer.from('x')]),
  }),
  entry('with a second deflate stream after the first', 'zip_content', {
    method: 8,
    packed: Buffer.concat([HELLO_DEFLATED, HELLO_DEFLATED]),
  }),
  entry('without the deflate stream that it declares', 'zip_content', {
    method: 8,
    packed: Buffer.from([255, 255, 255]),
  }),
  entry('with an empty deflate stream', 'zip_content', { method: 8, packed: Buffer.alloc(0) }),
  entry('with a zlib stream for a deflate stream', 'zip_content', {
    method: 8,
    packed: Buffer.from('789ccb48cdc9c907000 62c0215'.replace(' ', ''), 'hex'),
  }),
]

/** Returns only an entry's local file header and data. */
function localBytes(one: RawEntry): Buffer {
  const zip = rawZip([one])
  return zip.subarray(0, zip.readUInt32LE(zip.length - 6))
}

/** Each entry's stored data contains the following local entries, so that the entries overlap. */
function nestedLocalEntries(count: number): Buffer {
  const kernel = Buffer.alloc(MEGABYTE)
  let tail = localBytes({ name: 'media/z', method: 8, content: kernel })
  const nested: RawEntry[] = []
  for (let index = 0; index < count; index++) {
    const one = { name: `media/${index}`, content: tail }
    nested.unshift(one)
    tail = localBytes(one)
  }
  const at = (one: RawEntry) => tail.length - localBytes(one).length
  return rawZip([...nested.map((one, index) => ({ ...one, directoryOnly: index > 0, offset: at(one) })), MANIFEST])
}

const bombs: readonly HostileBundle[] = [
  row('of 60 MB in 60 kB with the correct size', 'too_large', () =>
    rawZip([MANIFEST, { ...HELLO, method: 8, content: Buffer.alloc(60 * MEGABYTE) }]),
  ),
  row('of 60 MB in 60 kB with a stated size of 1,000 bytes', 'zip_content', () =>
    rawZip([MANIFEST, { ...HELLO, method: 8, content: Buffer.alloc(60 * MEGABYTE), size: 1000 }]),
  ),
  row('of many files, each within its limit, of 51 MB together', 'too_large', () => {
    const zeroes = Buffer.alloc(MEGABYTE)
    return rawZip([
      MANIFEST,
      ...Array.from({ length: 51 }, (_, index) => ({ name: `scopes/s${index}.js`, method: 8, content: zeroes })),
    ])
  }),
  row('of 2,001 files', 'too_many_files', () =>
    rawZip([MANIFEST, ...Array.from({ length: 2000 }, (_, index) => ({ name: `media/${index}` }))]),
  ),
  row('of 60,000 files', 'too_many_files', () =>
    rawZip([MANIFEST, ...Array.from({ length: 60_000 }, (_, index) => ({ name: `media/${index}` }))]),
  ),
  row('of 60,000 folders and files that macOS adds', 'too_many_files', () =>
    rawZip([
      MANIFEST,
      ...Array.from({ length: 60_000 }, (_, index) => ({ name: index % 2 ? `${index}/` : `__MACOSX/${index}` })),
    ]),
  ),
  row('of 20 entries that overlap, each around the next', Array(19).fill('zip_content'), () => nestedLocalEntries(20)),
  row(
    'of entries that share one local header',
    [...Array(3).fill('zip_content'), ...Array(3).fill('name_duplicate')],
    () => {
      const offset = localBytes(MANIFEST).length
      const shared = Array.from({ length: 3 }, () => ({ ...HELLO, directoryOnly: true, offset }))
      return rawZip([MANIFEST, HELLO, ...shared])
    },
  ),
  row(
    'of entries with separate names that share one local header',
    ['zip_headers_differ', 'zip_headers_differ', 'zip_content', 'zip_content'],
    () => {
      const offset = localBytes(MANIFEST).length
      const shared = [1, 2].map((index) => ({ ...HELLO, name: `media/${index}.txt`, directoryOnly: true, offset }))
      return rawZip([MANIFEST, HELLO, ...shared])
    },
  ),
  row('of an entry that reaches into the directory', 'zip_content', () => {
    const short = { name: FILE, content: 'x', packedSize: 60, size: 60, crc: crc32('x'.repeat(200)) }
    return rawZip([MANIFEST, short])
  }),
  entry('of an entry that says 4 GB packed', ['zip_headers_differ'], { packedSize: 0xfffffffe }),
  entry('of an entry that says 4 GB unpacked', 'too_large', { size: 0xffffffff }),
  entry('of an entry that says 4 GB and both', 'too_large', { size: 0xfffffffe, packedSize: 0xfffffffe }),
  entry('of an entry that says 2^52 bytes in zip64', 'too_large', {
    size: 0xffffffff,
    packedSize: 0xffffffff,
    extra: zip64Field(2 ** 52, 2 ** 52),
  }),
  entry('of an entry that says 2^64 bytes in zip64', 'too_large', {
    size: 0xffffffff,
    packedSize: 0xffffffff,
    extra: Buffer.from([1, 0, 16, 0, ...Array(16).fill(255)]),
  }),
  entry('of an entry whose zip64 field is too short', 'zip_invalid', {
    size: 0xffffffff,
    packedSize: 0xffffffff,
    extra: zip64Field(5),
  }),
  entry('of an entry whose extra field runs over its end', 'zip_invalid', { extra: Buffer.from([1, 0, 255, 255]) }),
  row('of names that are slow to normalize', hundred('name_invalid'), () => {
    // 150 names of 64 kB with combining marks in the wrong order, for which normalisation takes quadratic time.
    const marks = `media/a${'\u0315'.repeat(16_000)}${'\u0300'.repeat(16_000)}`
    return rawZip([MANIFEST, ...Array.from({ length: 150 }, () => ({ name: marks, directoryOnly: true, offset: 0 }))])
  }),
]

// --- the end of the zip ------------------------------------------------------------------------------------------------

function ending(does: string, end: RawEnd, code: FaultCode = 'zip_invalid'): HostileBundle {
  return row(`whose end ${does}`, code, () => rawZip([MANIFEST, HELLO], end))
}

const SOUND_ZIP = () => rawZip([MANIFEST, HELLO])

/** Another program may read the directory just before the end of central directory record, and see other files. */
function twoDirectories(end: RawEnd): Buffer {
  const inner = rawZip([MANIFEST, { ...HELLO, name: 'media/b.txt' }])
  const start = inner.readUInt32LE(inner.length - 6)
  const second = inner.subarray(start, inner.length - 22)
  return rawZip([MANIFEST, HELLO], { ...end, gap: Buffer.concat([Buffer.from('junk'), second]) })
}

const ends: readonly HostileBundle[] = [
  row('that is empty', 'zip_invalid', () => Buffer.alloc(0)),
  row('that is a text', 'zip_invalid', () => Buffer.from('this is no zip, though it is long enough to be one')),
  row('that is gzip', 'zip_invalid', () => Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, ...Array(40).fill(0)])),
  row('that is a RAR', 'zip_invalid', () => Buffer.concat([Buffer.from('Rar!\x1a\x07\0'), Buffer.alloc(60)])),
  row('that is only a truncated end record', 'zip_invalid', () => rawZip([]).subarray(0, 21)),
  row('that is 10 MB of local headers', 'zip_invalid', () => {
    const one = localBytes({ name: 'x' })
    return Buffer.alloc(10 * MEGABYTE, one)
  }),
  row('truncated at its end', 'zip_invalid', () => SOUND_ZIP().subarray(0, -1)),
  row('truncated at its start', 'zip_invalid', () => SOUND_ZIP().subarray(1)),
  row('with a byte after its end', 'zip_invalid', () => Buffer.concat([SOUND_ZIP(), Buffer.from('x')])),
  row('with another zip after its end', 'zip_invalid', () => Buffer.concat([SOUND_ZIP(), SOUND_ZIP()])),
  row('with a byte before its start', 'zip_invalid', () => Buffer.concat([Buffer.from('x'), SOUND_ZIP()])),
  row('with another zip before its start', 'zip_invalid', () => Buffer.concat([rawZip([HELLO]), SOUND_ZIP()])),
  row('with two end records', 'zip_invalid', () => Buffer.concat([SOUND_ZIP(), SOUND_ZIP().subarray(-22)])),
  row('with another end record in its comment', 'zip_invalid', () => {
    const other = rawZip([]).subarray(-22)
    return rawZip([MANIFEST], { comment: Buffer.concat([other, Buffer.from('x')]) })
  }),
  row('with a whole zip in its comment', 'zip_invalid', () =>
    rawZip([MANIFEST], { comment: rawZip([MANIFEST, { ...HELLO, content: 'other' }]) }),
  ),
  row('with another directory just before its end record', 'zip_invalid', () => twoDirectories({})),
  row('with another directory just before its zip64 end record', 'zip_invalid', () => twoDirectories({ zip64: {} })),
  row('with bytes between its directory and its end record', 'zip_invalid', () =>
    rawZip([MANIFEST, HELLO], { gap: Buffer.from('junk') }),
  ),
  ending('says fewer entries', { entries: 1 }),
  ending('says more entries', { entries: 3 }),
  ending('says no entries', { entries: 0 }),
  ending('says 65,535 entries', { entries: 0xffff }),
  ending('says other entries on this disk', { entriesOnDisk: 1 }),
  ending('says a smaller directory', { directorySize: 10 }),
  ending('says a directory of 4 GB', { directorySize: 0xffffffff }),
  ending('says that the directory is elsewhere', { directoryOffset: 4 }),
  ending('says that the directory is after the end', { directoryOffset: 0xffffffff }),
  ending('says that it is the second of several disks', { disk: 1 }),
  ending('says that the directory is on the second disk', { directoryDisk: 1 }),
  ending('says that it is disk 65,535', { disk: 0xffff, directoryDisk: 0xffff }),
  ending('says a longer comment', { commentLength: 5 }),
  ending('says a shorter comment', { comment: Buffer.from('hello'), commentLength: 3 }),
  ending('says 2^64-1 entries in zip64', { zip64: { entries: 2n ** 64n - 1n } }),
  ending('says fewer entries in zip64', { zip64: { entries: 1n } }),
  ending('says fewer entries in zip64, and hides the true number', { zip64: { entries: 1n }, entries: 0xffff }),
  ending('says other entries on this disk in zip64', { zip64: { entriesOnDisk: 1n } }),
  ending('says a directory far away in zip64', { zip64: { directoryOffset: 2n ** 63n } }),
  ending('says a smaller directory in zip64', { zip64: { directorySize: 10n } }),
  ending('says a smaller directory in zip64, and hides the true size', {
    zip64: { directorySize: 10n },
    directorySize: 0xffffffff,
  }),
  ending('says a zip64 record far away', { zip64: { recordOffset: 2n ** 64n - 1n } }),
  ending('says a zip64 record where there is none', { zip64: { recordOffset: 0n } }),
  ending('says a longer zip64 record', { zip64: { recordSize: 2n ** 40n } }),
  ending('says a shorter zip64 record', { zip64: { recordSize: 12n } }),
  ending('says in zip64 that it is the second of several disks', { zip64: { disk: 1 } }),
  ending('says in zip64 that the directory is on the second disk', { zip64: { directoryDisk: 1 } }),
  ending('says in zip64 that its record is on the second disk', { zip64: { recordDisk: 1 } }),
  ending('says in zip64 that it is one of 7 disks', { zip64: { disks: 7 } }),
]

// --- manifests ---------------------------------------------------------------------------------------------------------

type Json = string | Uint8Array

function manifest(does: string, codes: FaultCode | readonly FaultCode[], text: Json): HostileBundle {
  return row(`whose manifest ${does}`, codes, () => rawZip([{ name: 'solution.json', content: text }]))
}

const LEAST = '"name":"crm","version":"1.0.0"'
const json = (does: string, text: Json) => manifest(does, 'json_invalid', text)
const nested = (open: string, close: string, depth: number) =>
  `{${LEAST},"oauth":${open.repeat(depth)}1${close.repeat(depth)}}`

const jsonFaults: readonly HostileBundle[] = [
  json('sets __proto__', `{${LEAST},"__proto__":{"authenticator":"NONE"}}`),
  json('sets __proto__ in escapes', `{${LEAST},"\\u005f\\u005fproto__":{"authenticator":"NONE"}}`),
  json('sets constructor.prototype', `{${LEAST},"constructor":{"prototype":{"listed":false}}}`),
  json('has the event type __proto__', `{${LEAST},"eventTypes":{"__proto__":{}}}`),
  json('has the event type constructor', `{${LEAST},"eventTypes":{"constructor":{}}}`),
  json('has the database __proto__', `{${LEAST},"databases":{"__proto__":{"server":"alpha"}}}`),
  json('has the OAuth setting __proto__', `{${LEAST},"oauth":{"api":"Google","clientId":"x","__proto__":{"a":1}}}`),
  json('has the OAuth setting prototype', `{${LEAST},"oauth":{"api":"Google","clientId":"x","prototype":1}}`),
  json('names itself twice', `{"name":"other",${LEAST}}`),
  json('names itself twice, once in escapes', `{"\\u006eame":"other",${LEAST}}`),
  json('sets one event type twice', `{${LEAST},"eventTypes":{"a":{},"a":{}}}`),
  json('nests 10,000 lists', nested('[', ']', 10_000)),
  json('nests 10,000 objects', nested('{"a":', '}', 10_000)),
  json('nests 120,000 lists that never end', `{${LEAST},"modules":${'['.repeat(120_000)}`),
  json('nests 33 levels', '['.repeat(33)),
  json('has the number 1e999', `{${LEAST},"oauth":{"api":"Google","clientId":"x","n":1e999}}`),
  json('has a number of 10,000 digits', `{${LEAST},"listed":${'9'.repeat(10_000)}}`),
  json('has a number with an exponent of 10,000 digits', `{${LEAST},"listed":1e${'9'.repeat(10_000)}}`),
  ...['NaN', 'Infinity', '-Infinity', 'undefined', '0x10', '01', '+1', '1.', '.5', '1_000', '10n'].map((number) =>
    json(`has the number ${number}`, `{${LEAST},"listed":${number}}`),
  ),
  json('starts with a byte order mark', `\ufeff{${LEAST}}`),
  json('is UTF-16 with a byte order mark', Buffer.from(`\ufeff{${LEAST}}`, 'utf16le')),
  json('is UTF-16 without a byte order mark', Buffer.from(`{${LEAST}}`, 'utf16le')),
  json('is UTF-16, big end first', Buffer.from(`\ufeff{${LEAST}}`, 'utf16le').swap16()),
  json('is UTF-32', Buffer.from([...`{${LEAST}}`].flatMap((letter) => [letter.charCodeAt(0), 0, 0, 0]))),
  json('is Latin-1', Buffer.from(`{${LEAST},"title":"caf\u00e9"}`, 'latin1')),
  json('has overlong UTF-8', Buffer.from(`{${LEAST},"title":"\u00c0\u00af"}`, 'latin1')),
  json('has surrogates in UTF-8', Buffer.from(`{${LEAST},"title":"\u00ed\u00a0\u0080"}`, 'latin1')),
  json('has a zero in a text', `{${LEAST},"title":"a\0b"}`),
  json('has a line break in a text', `{${LEAST},"title":"a\nb"}`),
  json('ends with a zero', `{${LEAST}}\0`),
  json('has two objects', `{${LEAST}}{${LEAST}}`),
  json('has a comment', `{${LEAST} /* x */}`),
  json('has a trailing comma', `{${LEAST},}`),
  json('has keys without quotes', '{name:"crm",version:"1.0.0"}'),
  json('has single quotes', "{'name':'crm','version':'1.0.0'}"),
  json('ends in the middle', `{${LEAST}`),
  json('is empty', ''),
  json('is JavaScript', 'module.exports = { name: "crm" }'),
  manifest('is larger than 256 KiB', 'too_large', `{${LEAST},"title":"${'x'.repeat(256 * 1024)}"}`),
]

const wrong = (does: string, extra: Record<string, unknown>) => manifest(does, 'manifest_invalid', manifestText(extra))
const inherited = ['toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf', '__defineGetter__', '__lookupSetter__']

const manifestFaults: readonly HostileBundle[] = [
  ...['[]', '"crm"', 'null', '5', 'true', `[{${LEAST}}]`].map((text) =>
    manifest(`is ${text} instead of an object`, 'manifest_invalid', text),
  ),
  ...inherited.map((key) => manifest(`has the key ${key}`, 'manifest_unknown_key', manifestText({ [key]: {} }))),
  ...inherited.map((key) => wrong(`has the event type ${key}`, { eventTypes: { [key]: {} } })),
  ...inherited.map((key) => wrong(`has the database ${key}`, { databases: { [key]: { server: 'alpha' } } })),
  manifest(
    'has the key toString in an event type',
    'manifest_unknown_key',
    manifestText({ eventTypes: { a: { toString: 'x' } } }),
  ),
  wrong('has the mode toString', { authenticator: 'toString' }),
  wrong('has the type constructor', { type: 'constructor' }),
  wrong('has the OAuth provider valueOf', { oauth: { api: 'valueOf', clientId: 'x' } }),
  wrong('has an object for its name', { name: { toString: 'crm' } }),
  wrong('has a list for its name', { name: ['crm'] }),
  wrong('has a number for its version', { version: 1 }),
  wrong('has an object that looks like a list for its modules', { modules: { 0: 'a', length: 1 } }),
  wrong('has a text for its modules', { modules: 'auth' }),
  wrong('has lists in its list of modules', { modules: [['auth']] }),
  wrong('has a module whose name is a path', { modules: ['../../etc'] }),
  wrong('has a module whose name is __proto__', { modules: ['__proto__'] }),
  manifest(
    'names 1,001 modules',
    hundred('manifest_invalid', 'module_missing'),
    manifestText({ modules: Array.from({ length: 1001 }, (_, index) => `m${index}`) }),
  ),
  wrong('has a list for its event types', { eventTypes: [] }),
  wrong('has an object for its permissions', { permissions: { Administrators: true } }),
  wrong('has numbers for its permissions', { permissions: [1] }),
  wrong('has a lone surrogate in a permission', { permissions: ['\ud800'] }),
  wrong('has a lone surrogate in its title', { title: 'a\udc00b' }),
  wrong('has a lone surrogate in an OAuth setting', { oauth: { api: 'Google', clientId: 'x', hint: '\ud800' } }),
  wrong('has "false" for false', { listed: 'false' }),
  wrong('has 0 for false', { mustAuthenticate: 0 }),
  wrong('has null for its mode', { authenticator: null }),
  wrong('has an OAuth setting of 100,000 letters', { oauth: { api: 'Google', clientId: 'x'.repeat(100_000) } }),
  wrong('has an address that runs a script', {
    oauth: { api: 'Google', clientId: 'x', issuer: 'javascript:alert(1)' },
  }),
  wrong('has an address that is a path to another host', {
    oauth: { api: 'Google', clientId: 'x', login_failed_url: '/\\evil.example' },
  }),
  wrong('names every host', { http: ['*'] }),
  wrong('names a file for a host', { http: ['file:///etc/passwd'] }),
  manifest(
    'has 20,000 keys that do not exist',
    hundred('manifest_unknown_key'),
    manifestText(Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 1]))),
  ),
  manifest(
    'has 60 kB of key that does not exist',
    'manifest_unknown_key',
    manifestText({ [`name${'e'.repeat(60_000)}`]: 1 }),
  ),
  wrong('has a version that is slow to match', { version: `1.0.0-${'0a.'.repeat(30_000)}!` }),
  wrong('has a host that is slow to match', { http: [`${'a-'.repeat(60_000)}.`] }),
  wrong('has an address with names that are slow to normalize', {
    oauth: { api: 'Google', clientId: 'x', issuer: `https://a${'\u0315'.repeat(30_000)}${'\u0300'.repeat(30_000)}` },
  }),
]

// --- modules and files -------------------------------------------------------------------------------------------------

function files(does: string, codes: FaultCode | readonly FaultCode[], extra: Record<string, unknown>, those: Files) {
  return row(does, codes, () => zipOf({ 'solution.json': manifestText({ authenticator: 'NONE', ...extra }), ...those }))
}

const NOT_UTF8 = Uint8Array.from([0x61, 0xff])
const modules: readonly HostileBundle[] = [
  row('without a manifest', 'manifest_missing', () => rawZip([HELLO])),
  row('without anything', 'manifest_missing', () => rawZip([])),
  row('with its manifest one folder down', 'manifest_in_folder', () =>
    rawZip([{ ...MANIFEST, name: 'app/solution.json' }]),
  ),
  row('with its manifest in a skipped folder', 'manifest_missing', () =>
    rawZip([{ ...MANIFEST, name: '__MACOSX/solution.json' }]),
  ),
  row('that is a module by its manifest', 'manifest_invalid', () =>
    rawZip([{ ...MANIFEST, content: manifestText({ type: 'module' }) }]),
  ),
  files('that names missing modules', Array(2).fill('module_missing'), { modules: ['constructor', 'x'] }, {}),
  files('that is a module of itself', 'module_missing', { modules: ['crm'] }, {}),
  files(
    'with a module whose manifest names another',
    'module_invalid',
    { modules: ['a'] },
    moduleFile('a', { name: 'b' }),
  ),
  files(
    'with a module that says it is a solution',
    'module_invalid',
    { modules: ['a'] },
    moduleFile('a', { type: 'solution' }),
  ),
  files(
    'with a module’s manifest that sets __proto__',
    'json_invalid',
    { modules: ['a'] },
    {
      'modules/a/solution.json': '{"name":"a","version":"1.0.0","type":"module","__proto__":{"type":"authenticator"}}',
    },
  ),
  files(
    'with two authenticators',
    'authenticator_count',
    { modules: ['a', 'b'], authenticator: 'AUTHENTICATOR' },
    { ...moduleFile('a', { type: 'authenticator' }), ...moduleFile('b', { type: 'authenticator' }) },
  ),
  files(
    'with 200 modules of a hundred errors each',
    hundred('manifest_unknown_key'),
    { modules: Array.from({ length: 200 }, (_, index) => `m${index}`) },
    Object.assign(
      {},
      ...Array.from({ length: 200 }, (_, index) =>
        moduleFile(`m${index}`, Object.fromEntries(Array.from({ length: 100 }, (_, key) => [`k${key}`, 1]))),
      ),
    ),
  ),
  files('whose forms are named by paths', 'manifest_invalid', { firstForm: '../orders' }, {}),
  files('whose first form is "toString"', 'form_missing', { firstForm: 'toString' }, {}),
  files(
    'with files that are not UTF-8',
    ['text_invalid', 'text_invalid', 'json_invalid', 'json_invalid', 'text_invalid'],
    {},
    {
      'globals.js': NOT_UTF8,
      'forms/f.js': NOT_UTF8,
      'forms/f.json': NOT_UTF8,
      'i18n/nl.json': NOT_UTF8,
      'media/login.html': NOT_UTF8,
    },
  ),
  ...['__proto__', 'constructor', 'toString', '..', '-'].map((locale) =>
    files(`with translations for the locale "${locale}"`, 'i18n_invalid', {}, { [`i18n/${locale}.json`]: '{}' }),
  ),
  files('with a script of more than 1 MB', 'too_large', {}, { 'globals.js': ' '.repeat(MEGABYTE + 1) }),
  files('with a form of more than 1 MB', 'too_large', {}, { 'forms/f.json': ' '.repeat(MEGABYTE + 1) }),
  files('with translations of more than 1 MB', 'too_large', {}, { 'i18n/nl.json': ' '.repeat(MEGABYTE + 1) }),
  files('with a login page of more than 256 kB', 'too_large', {}, { 'media/login.html': ' '.repeat(256 * 1024 + 1) }),
  files(
    'with sources of more than 8 MB together',
    'too_large',
    {},
    Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`scopes/s${index}.js`, ' '.repeat(MEGABYTE)])),
  ),
]

export const HOSTILE_BUNDLES: readonly HostileBundle[] = [
  ...names,
  ...headers,
  ...kinds,
  ...methods,
  ...duplicates,
  ...content,
  ...bombs,
  ...ends,
  ...jsonFaults,
  ...manifestFaults,
  ...modules,
]
