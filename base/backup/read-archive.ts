import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { type BackupManifest, invalid, KEY_PART, MANIFEST, readManifest } from './manifest.ts'
import { PLATFORM, type Saved } from './saved.ts'

/** An open backup whose list of parts is valid. The content of each part is verified while it is read. */
export type Archive = {
  readonly manifest: BackupManifest
  /** Reads the bytes of a part. Fails with ERR_BACKUP_INVALID if they differ from the bytes that were written. */
  read(name: string): AsyncGenerator<Buffer>
  close(): void
}

/** Chosen here: far more than any platform has solutions and plugin files. */
const MOST_PARTS = 100_000
/** Maximum size of the manifest in bytes. Its entry for each part takes about 150 bytes. */
const MANIFEST_SIZE = 32 * 1024 ** 2
/** Maximum size of the platform's key in bytes. Like the manifest, it is read into memory. */
const KEY_SIZE = 4096
/**
 * The ZIP flag bits 0 (encrypted), 6 (strong encryption) and 13 (masked headers). Our archives never set them.
 * @see APPNOTE.TXT 4.4.4
 */
const REFUSED_FLAGS = 0b10_0000_0100_0001

/**
 * @throws ERR_BACKUP_INVALID if the file is not a backup, is truncated, or its manifest does not match its parts;
 *   ERR_DATABASE_VERSION if a newer version of Solhost wrote it
 */
export async function openArchive(file: string, saved: Saved = PLATFORM): Promise<Archive> {
  let zip: ZipFile
  try {
    zip = await openPromise(file, { autoClose: false })
  } catch (error) {
    throw unreadable(file, error)
  }
  try {
    const entries = await listEntries(zip, file)
    const listed = entries.get(MANIFEST)
    if (listed === undefined) throw invalid(file, 'the file has no manifest, so it is not a backup')
    if (listed.uncompressedSize > MANIFEST_SIZE)
      throw invalid(file, `the manifest is larger than ${MANIFEST_SIZE / 1024 ** 2} MB`)
    entries.delete(MANIFEST)
    const manifest = readManifest(await textOf(zip, listed, file), file, saved)
    compareParts(manifest, entries, file)
    return {
      manifest,
      read: (name) => checkedPart(zip, entries.get(name) as Entry, manifest, file),
      close: () => zip.close(),
    }
  } catch (error) {
    zip.close()
    throw error
  }
}

async function listEntries(zip: ZipFile, file: string): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>()
  try {
    for await (const entry of zip.eachEntry()) {
      if (entries.size >= MOST_PARTS) throw invalid(file, `the file has more parts than the maximum of ${MOST_PARTS}`)
      if (entries.has(entry.fileName)) throw invalid(file, 'the file has two parts with the same name')
      if ((entry.generalPurposeBitFlag & REFUSED_FLAGS) !== 0) throw invalid(file, 'the file is encrypted')
      entries.set(entry.fileName, entry)
    }
  } catch (error) {
    throw unreadable(file, error)
  }
  return entries
}

function compareParts({ parts }: BackupManifest, entries: ReadonlyMap<string, Entry>, file: string): void {
  for (const [name, { bytes }] of Object.entries(parts)) {
    const size = entries.get(name)?.uncompressedSize
    if (size === undefined) throw invalid(file, `the backup does not contain the part ${name}`)
    if (size !== bytes) throw invalid(file, `the size of the part ${name} does not match the manifest`)
    if (name === KEY_PART && bytes > KEY_SIZE) throw invalid(file, `the key is larger than ${KEY_SIZE} bytes`)
  }
  const more = [...entries.keys()].find((name) => !Object.hasOwn(parts, name))
  if (more !== undefined) throw invalid(file, `the file has the part ${more}, which the manifest does not list`)
}

/** Returns at most `bytes` bytes, because yauzl fails if a part is larger than its entry states. */
async function* checkedPart(
  zip: ZipFile,
  entry: Entry,
  { parts }: BackupManifest,
  file: string,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let stream: Readable | null = null
  try {
    stream = await zip.openReadStreamPromise(entry)
    for await (const piece of stream as AsyncIterable<Buffer>) {
      hash.update(piece)
      yield piece
    }
  } catch (error) {
    throw unreadable(file, error)
  } finally {
    stream?.destroy()
  }
  if (hash.digest('hex') !== parts[entry.fileName]?.sha256)
    throw invalid(file, `the part ${entry.fileName} does not match its checksum in the manifest`)
}

async function textOf(zip: ZipFile, entry: Entry, file: string): Promise<string> {
  const pieces: Buffer[] = []
  try {
    for await (const piece of await zip.openReadStreamPromise(entry)) pieces.push(piece as Buffer)
  } catch (error) {
    throw unreadable(file, error)
  }
  const bytes = Buffer.concat(pieces)
  // yauzl does not compare the checksum. A damaged manifest could look like that of a newer version.
  if (crc32(bytes) !== entry.crc32) throw invalid(file, 'the manifest is damaged')
  return bytes.toString('utf8')
}

/** Errors from yauzl and zlib are about the ZIP format. Errors from Node.js are about reading the file. */
function unreadable(file: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ERR_BACKUP_INVALID') return error as Error
  if (code === 'ENOENT') return invalid(file, 'the file does not exist', error)
  if (code === 'EACCES' || code === 'EISDIR') return invalid(file, `the file cannot be read (${code})`, error)
  return invalid(file, `the file is truncated, damaged or not a ZIP file (${message})`, error)
}
