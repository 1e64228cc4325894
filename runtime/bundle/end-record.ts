import type { ZipFile } from 'yauzl'

const END_RECORD_SIZE = 22
const RECORD_SIGNATURE = 0x02014b50
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50
const ZIP64_LOCATOR_SIZE = 20
/** The combined length of the signature and the length field. The field's value does not include these bytes. */
const ZIP64_LENGTH_END = 12

/**
 * Compares the end of central directory records with the directory that yauzl read between `start` and `end`. If they
 * differed, programs that read other fields could see different files. There must be no bytes between the directory and
 * the record, since some programs look for the directory just before the record.
 * @returns what is wrong, or null
 * @see APPNOTE.TXT 4.3.14 to 4.3.16
 */
export function checkEndRecord(zip: Buffer, file: ZipFile, start: number, end: number): string | null {
  const at = zip.length - END_RECORD_SIZE - Buffer.byteLength(file.comment as string | Buffer)
  const locator = at - ZIP64_LOCATOR_SIZE
  const hasZip64 = locator >= 0 && zip.readUInt32LE(locator) === ZIP64_LOCATOR_SIGNATURE
  if (end > at) return 'the central directory overlaps the end of central directory record'
  if (end + 4 <= zip.length && zip.readUInt32LE(end) === RECORD_SIGNATURE)
    return 'the central directory has more entries than its end of central directory record states'
  const says = (offset: number, bytes: 2 | 4, truth: number) => {
    const value = zip.readUIntLE(at + offset, bytes)
    return value === truth || (hasZip64 && value === 2 ** (8 * bytes) - 1)
  }
  if (!says(4, 2, 0) || !says(6, 2, 0)) return 'the ZIP file is one part of a multi-part archive'
  if (!says(8, 2, file.entryCount) || !says(10, 2, file.entryCount))
    return 'the end of central directory records differ in the number of entries'
  if (!says(12, 4, end - start))
    return 'the size of the central directory differs from the size in the end of central directory record'
  if (!says(16, 4, start)) return 'the end of central directory records differ in the position of the directory'
  if (hasZip64) return checkZip64Records(zip, file, { start, end, locator })
  return end === at ? null : 'there are bytes between the central directory and the end of central directory record'
}

type Directory = { readonly start: number; readonly end: number; readonly locator: number }

/** Checks the fields that yauzl ignores, because other programs may use them instead of the count and position. */
function checkZip64Records(zip: Buffer, file: ZipFile, { start, end, locator }: Directory): string | null {
  const record = readNumber(zip, locator + 8)
  if (end !== record) return 'there are bytes between the central directory and the end of central directory record'
  if (record + ZIP64_LENGTH_END + readNumber(zip, record + 4) !== locator)
    return 'the length of the ZIP64 end of central directory record differs from its length field'
  const disks = [zip.readUInt32LE(record + 16), zip.readUInt32LE(record + 20), zip.readUInt32LE(locator + 4)]
  // The number of disks should be 1, but some programs count from 0.
  if (disks.some((disk) => disk !== 0) || zip.readUInt32LE(locator + 16) > 1)
    return 'the ZIP file is one part of a multi-part archive'
  if (readNumber(zip, record + 24) !== file.entryCount)
    return 'the end of central directory records differ in the number of entries'
  if (readNumber(zip, record + 40) !== end - start)
    return 'the size of the central directory differs from the size in the end of central directory record'
  return null
}

function readNumber(zip: Buffer, at: number): number {
  return Number(zip.readBigUInt64LE(at))
}
