import type { ZipFile } from 'yauzl'

const END_RECORD_SIZE = 22
const RECORD_SIGNATURE = 0x02014b50
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50
const ZIP64_LOCATOR_SIZE = 20

/**
 * Compares what the end record says with the directory that yauzl read between `start` and `end`: programs that
 * believe different ones of these numbers must not see different files.
 * @returns what is wrong, or null
 * @see APPNOTE.TXT 4.3.16 and 4.3.15
 */
export function checkEndRecord(zip: Buffer, file: ZipFile, start: number, end: number): string | null {
  const at = zip.length - END_RECORD_SIZE - Buffer.byteLength(file.comment as string | Buffer)
  const locator = at - ZIP64_LOCATOR_SIZE
  const hasZip64 = locator >= 0 && zip.readUInt32LE(locator) === ZIP64_LOCATOR_SIGNATURE
  if (end > at) return 'the directory runs into the end record'
  if (end + 4 <= zip.length && zip.readUInt32LE(end) === RECORD_SIGNATURE)
    return 'the directory holds more entries than it says'
  const says = (offset: number, bytes: 2 | 4, truth: number) => {
    const value = zip.readUIntLE(at + offset, bytes)
    return value === truth || (hasZip64 && value === 2 ** (8 * bytes) - 1)
  }
  if (!says(8, 2, file.entryCount) || !says(10, 2, file.entryCount))
    return 'the end records differ in the number of entries'
  if (!says(12, 4, end - start)) return 'the directory has another size than the end record says'
  if (!says(16, 4, start)) return 'the end records differ in the place of the directory'
  return null
}
