import { type Entry, type LocalFileHeader, parseExtraFields } from 'yauzl'
import { type Findings, showName } from './findings.ts'
import type { ListedEntry, Listing } from './zip-listing.ts'

const DESCRIPTOR_FLAG = 0b1000
const DESCRIPTOR_SIGNATURE = 0x08074b50
const ZIP64_FIELD = 0x0001
const IN_ZIP64_FIELD = 0xffffffff

type Span = { readonly listed: ListedEntry; readonly start: number; readonly end: number }

/**
 * Compares each entry with its local header, and rejects entries that share bytes with each other or the directory.
 * @returns the packed bytes of each valid entry; the others are marked as rejected
 */
export async function checkLocalEntries(
  zip: Buffer,
  { file, entries, directoryStart }: Listing,
  found: Findings,
): Promise<Map<ListedEntry, Uint8Array>> {
  const packed = new Map<ListedEntry, Uint8Array>()
  const spans: Span[] = []
  for (const listed of entries) {
    try {
      const header = await file.readLocalFileHeaderPromise(listed.entry)
      const end = header.fileDataStart + listed.entry.compressedSize
      const descriptor = hasDescriptor(listed.entry) ? descriptorLength(zip, end, listed.entry) : 0
      packed.set(listed, zip.subarray(header.fileDataStart, end))
      spans.push({ listed, start: listed.entry.relativeOffsetOfLocalHeader, end: end + (descriptor ?? 0) })
      const difference = descriptor === null ? 'data descriptor' : differenceOf(listed.entry, header)
      if (difference !== null)
        refuse(
          listed,
          found,
          'zip_headers_differ',
          `has a local header that does not match the central directory (${difference}); create the ZIP file again`,
        )
    } catch (error) {
      const reason = showName(error instanceof Error ? error.message : String(error))
      refuse(
        listed,
        found,
        'zip_headers_differ',
        `has no local header at the offset listed in the central directory (${reason}); create the ZIP file again`,
      )
    }
  }
  refuseOverlaps(spans, directoryStart, found)
  return packed
}

function refuse(listed: ListedEntry, found: Findings, code: 'zip_headers_differ' | 'zip_content', what: string): void {
  const shown = showName(listed.name)
  listed.refused = true
  found.fault(shown, code, `"${shown}" ${what}`)
}

function differenceOf(entry: Entry, header: LocalFileHeader): string | null {
  if (!header.fileName.equals(entry.fileNameRaw)) return 'name'
  if (header.compressionMethod !== entry.compressionMethod) return 'method'
  if (header.generalPurposeBitFlag !== entry.generalPurposeBitFlag) return 'flags'
  const { size, packedSize } = localSizes(header)
  const differs = (local: number, central: number) => local !== central && !(hasDescriptor(entry) && local === 0)
  if (differs(header.crc32, entry.crc32)) return 'CRC-32'
  if (differs(packedSize, entry.compressedSize)) return 'packed size'
  if (differs(size, entry.uncompressedSize)) return 'size'
  return null
}

/**
 * A size of 0xffffffff means that the ZIP64 field contains the real sizes. The unpacked size is first.
 * @see APPNOTE.TXT 4.5.3
 */
function localSizes(header: LocalFileHeader): { size: number; packedSize: number } {
  const written = { size: header.uncompressedSize, packedSize: header.compressedSize }
  if (written.size !== IN_ZIP64_FIELD && written.packedSize !== IN_ZIP64_FIELD) return written
  const field = parseExtraFields(header.extraField).find(({ id }) => id === ZIP64_FIELD)
  if (field === undefined) return written
  let at = 0
  const next = () => {
    at += 8
    return at <= field.data.length ? Number(field.data.readBigUInt64LE(at - 8)) : Number.NaN
  }
  const size = written.size === IN_ZIP64_FIELD ? next() : written.size
  const packedSize = written.packedSize === IN_ZIP64_FIELD ? next() : written.packedSize
  return { size, packedSize }
}

function hasDescriptor(entry: Entry): boolean {
  return (entry.generalPurposeBitFlag & DESCRIPTOR_FLAG) !== 0
}

/**
 * Returns the length of the data descriptor at `at`: 12 or 20 bytes, plus 4 for the signature that most programs write.
 * @returns null if the descriptor doesn't match the directory in any of these forms
 * @see APPNOTE.TXT 4.3.9
 */
function descriptorLength(zip: Buffer, at: number, entry: Entry): number | null {
  for (const signature of [4, 0]) {
    for (const sizeBytes of [4, 8]) {
      const length = signature + 4 + 2 * sizeBytes
      if (at + length > zip.length) continue
      if (signature > 0 && zip.readUInt32LE(at) !== DESCRIPTOR_SIGNATURE) continue
      const crc = zip.readUInt32LE(at + signature)
      const packedSize = readSize(zip, at + signature + 4, sizeBytes)
      const size = readSize(zip, at + signature + 4 + sizeBytes, sizeBytes)
      if (crc === entry.crc32 && packedSize === entry.compressedSize && size === entry.uncompressedSize) return length
    }
  }
  return null
}

function readSize(zip: Buffer, at: number, bytes: number): number {
  return bytes === 8 ? Number(zip.readBigUInt64LE(at)) : zip.readUInt32LE(at)
}

/**
 * Rejects entries that share data, because they could let 42 kB unpack to petabytes.
 * @see "A better zip bomb", D. Fifield, 2019
 */
function refuseOverlaps(spans: Span[], directory: number, found: Findings): void {
  spans.sort((a, b) => a.start - b.start || a.end - b.end)
  let last: Span | null = null
  for (const span of spans) {
    if (span.end > directory) refuse(span.listed, found, 'zip_content', 'overlaps the ZIP file’s central directory')
    if (last !== null && span.start < last.end) {
      refuse(span.listed, found, 'zip_content', `overlaps "${showName(last.listed.name)}"`)
      last.listed.refused = true
    }
    if (last === null || span.end > last.end) last = span
  }
}
