import { buffer } from 'node:stream/consumers'
import { crc32, deflateRawSync } from 'node:zlib'
import { ZipFile } from 'yazl'

export type Files = Readonly<Record<string, string | Uint8Array>>

/** Creates a valid ZIP file that contains the files in this order. Names that end with `/` are folders. */
export async function zipOf(files: Files, options: { compress?: boolean } = {}): Promise<Buffer> {
  const zip = new ZipFile()
  for (const [name, content] of Object.entries(files)) {
    if (name.endsWith('/')) zip.addEmptyDirectory(name)
    else zip.addBuffer(Buffer.from(content), name, { compress: options.compress ?? true })
  }
  zip.end()
  return buffer(zip.outputStream)
}

/** Returns the JSON text of a manifest with all required properties, and those in `extra`. */
export function manifestText(extra: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ name: 'crm', version: '1.0.0', ...extra })
}

/** Creates a small bundle from a manifest and `files`. */
export async function bundleOf(manifest: Readonly<Record<string, unknown>> = {}, files: Files = {}): Promise<Buffer> {
  return zipOf({ 'solution.json': manifestText(manifest), ...files })
}

/** Returns a module's manifest as a file with its path in a bundle. */
export function moduleFile(name: string, extra: Readonly<Record<string, unknown>> = {}): Files {
  return { [`modules/${name}/solution.json`]: manifestText({ name, type: 'module', ...extra }) }
}

type Header = {
  readonly name: string | Uint8Array
  readonly flags: number
  readonly method: number
  readonly crc: number
  readonly packedSize: number
  readonly size: number
  readonly extra: Uint8Array
}

/** A ZIP entry that may contain incorrect data. Properties that are omitted get correct values. */
export type RawEntry = Partial<Header> & {
  readonly content?: string | Uint8Array
  /** The data as stored. By default, this is the content, deflated if the method requires it. */
  readonly packed?: Uint8Array
  /** Incorrect values for the local file header. */
  readonly local?: Partial<Header>
  /** Bytes after the entry's data, such as a data descriptor. */
  readonly descriptor?: Uint8Array
  /** Bytes before the local file header. They belong to no entry. */
  readonly gap?: Uint8Array
  /** The Unix mode with the file type, such as 0o120777 for a symbolic link. */
  readonly mode?: number
  /** MS-DOS attributes, such as 0x10 for a folder. */
  readonly dosAttributes?: number
  readonly madeBy?: number
  /** The disk number that the central directory states for this entry. */
  readonly disk?: number
  readonly comment?: Uint8Array
  /** The offset that the central directory states for the local file header. */
  readonly offset?: number
  /** Omits the local file header and the data. */
  readonly directoryOnly?: boolean
}

export type RawEnd = {
  readonly entries?: number
  readonly entriesOnDisk?: number
  readonly directorySize?: number
  readonly directoryOffset?: number
  readonly disk?: number
  readonly directoryDisk?: number
  readonly comment?: Uint8Array
  /** The stated length of the comment, if it differs from the real length. */
  readonly commentLength?: number
  /** Bytes after the central directory. */
  readonly gap?: Uint8Array
  /** Adds Zip64 records before the end of central directory record. These values replace the correct ones. */
  readonly zip64?: {
    readonly entries?: bigint
    readonly entriesOnDisk?: bigint
    readonly directorySize?: bigint
    readonly directoryOffset?: bigint
    readonly recordOffset?: bigint
    readonly recordSize?: bigint
    readonly disk?: number
    readonly directoryDisk?: number
    readonly recordDisk?: number
    readonly disks?: number
  }
}

/**
 * Builds a ZIP file byte by byte, so it may be invalid.
 * @see APPNOTE.TXT 4.3
 */
export function rawZip(entries: readonly RawEntry[], end: RawEnd = {}): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const entry of entries) {
    const { header, packed } = complete(entry)
    const offset = entry.offset ?? at + (entry.gap?.length ?? 0)
    if (!entry.directoryOnly) {
      const bytes = Buffer.concat([
        Buffer.from(entry.gap ?? []),
        localHeader({ ...header, ...entry.local }),
        packed,
        Buffer.from(entry.descriptor ?? []),
      ])
      parts.push(bytes)
      at += bytes.length
    }
    directory.push(centralHeader(header, entry, offset))
  }
  const central = Buffer.concat(directory)
  return Buffer.concat([...parts, central, endRecords(entries.length, at, central.length, end)])
}

/** Builds a data descriptor. The given values replace the correct ones. */
export function descriptorOf(
  content: string,
  options: { signature?: boolean; wide?: boolean; crc?: number; packedSize?: number; size?: number } = {},
): Buffer {
  const write = options.wide ? numbers64 : numbers32
  const size = Buffer.byteLength(content)
  return Buffer.concat([
    options.signature === false ? Buffer.alloc(0) : numbers32(0x08074b50),
    numbers32(options.crc ?? crc32(content)),
    write(options.packedSize ?? size),
    write(options.size ?? size),
  ])
}

/** Builds a Zip64 extra field that contains these 8-byte numbers. */
export function zip64Field(...values: number[]): Buffer {
  return Buffer.concat([numbers16(1, values.length * 8), numbers64(...values)])
}

function complete(entry: RawEntry): { header: Header; packed: Buffer } {
  const content = Buffer.from(entry.content ?? '')
  const method = entry.method ?? 0
  const packed = Buffer.from(entry.packed ?? (method === 8 ? deflateRawSync(content) : content))
  const header = {
    name: entry.name ?? 'a.txt',
    flags: entry.flags ?? 0,
    method,
    crc: entry.crc ?? crc32(content),
    packedSize: entry.packedSize ?? packed.length,
    size: entry.size ?? content.length,
    extra: entry.extra ?? Buffer.alloc(0),
  }
  return { header, packed }
}

function localHeader(header: Header): Buffer {
  const name = Buffer.from(header.name)
  return Buffer.concat([numbers32(0x04034b50), shared(header, name), name, header.extra])
}

function centralHeader(header: Header, entry: RawEntry, offset: number): Buffer {
  const name = Buffer.from(header.name)
  const attributes = ((entry.mode ?? 0) * 0x10000 + (entry.dosAttributes ?? 0)) >>> 0
  const comment = Buffer.from(entry.comment ?? [])
  return Buffer.concat([
    numbers32(0x02014b50),
    numbers16(((entry.madeBy ?? 3) << 8) | 20),
    shared(header, name),
    numbers16(comment.length, entry.disk ?? 0, 0),
    numbers32(attributes, offset),
    name,
    header.extra,
    comment,
  ])
}

function shared(header: Header, name: Buffer): Buffer {
  return Buffer.concat([
    numbers16(20, header.flags, header.method, 0, 0),
    numbers32(header.crc, header.packedSize, header.size),
    numbers16(name.length, header.extra.length),
  ])
}

function endRecords(count: number, offset: number, size: number, end: RawEnd): Buffer {
  const comment = Buffer.from(end.comment ?? [])
  const gap = Buffer.from(end.gap ?? [])
  return Buffer.concat([
    gap,
    end.zip64 ? zip64Records(count, offset, size, gap.length, end.zip64) : Buffer.alloc(0),
    numbers32(0x06054b50),
    numbers16(end.disk ?? 0, end.directoryDisk ?? 0, end.entriesOnDisk ?? end.entries ?? count, end.entries ?? count),
    numbers32(end.directorySize ?? size, end.directoryOffset ?? offset),
    numbers16(end.commentLength ?? comment.length),
    comment,
  ])
}

function zip64Records(
  count: number,
  offset: number,
  size: number,
  gap: number,
  lies: NonNullable<RawEnd['zip64']>,
): Buffer {
  const entries = lies.entries ?? BigInt(count)
  return Buffer.concat([
    numbers32(0x06064b50),
    numbers64(lies.recordSize ?? 44),
    numbers16(45, 45),
    numbers32(lies.disk ?? 0, lies.directoryDisk ?? 0),
    numbers64(lies.entriesOnDisk ?? entries, entries, lies.directorySize ?? size, lies.directoryOffset ?? offset),
    numbers32(0x07064b50, lies.recordDisk ?? 0),
    numbers64(lies.recordOffset ?? offset + size + gap),
    numbers32(lies.disks ?? 1),
  ])
}

function numbers16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  values.forEach((value, index) => void bytes.writeUInt16LE(value, index * 2))
  return bytes
}

function numbers32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  values.forEach((value, index) => void bytes.writeUInt32LE(value, index * 4))
  return bytes
}

function numbers64(...values: (number | bigint)[]): Buffer {
  const bytes = Buffer.alloc(values.length * 8)
  values.forEach((value, index) => void bytes.writeBigUInt64LE(BigInt(value), index * 8))
  return bytes
}
