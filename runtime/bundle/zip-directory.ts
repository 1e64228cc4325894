import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl'
import type { Limits } from '../limits.ts'
import { checkEndRecord } from './end-record.ts'
import { MAX_PATH, nameKey, problemOfName } from './file-names.ts'
import { type Findings, showName, WHOLE_BUNDLE } from './findings.ts'
import { checkLocalEntries } from './local-headers.ts'
import { decodeUtf8 } from './strict-json.ts'
import type { ListedEntry, Listing } from './zip-listing.ts'

/**
 * Maximum number of entries in the directory, per allowed file. Chosen here: folders and files added by macOS are
 * skipped, but there must not be too many of them.
 */
const ENTRIES_PER_FILE = 4

/** Flag bits 0 (encrypted), 5 (patched), 6 (strongly encrypted) and 13 (masked headers). @see APPNOTE.TXT 4.4.4 */
const REFUSED_FLAGS = 0b10_0000_0110_0001

const FILE_TYPE_BITS = 0o170000
const REGULAR_FILE = 0o100000
const DOS_FOLDER = 0x10

/** An entry with a valid name, kind, method, headers and position in the ZIP file. Its content is not checked yet. */
export type SoundEntry = {
  readonly name: string
  readonly stored: boolean
  readonly crc32: number
  readonly size: number
  readonly packed: Uint8Array
}

export type ZipDirectory = {
  /** The valid entries, sorted by name. */
  readonly entries: readonly SoundEntry[]
  /** Valid names of files that were rejected for other reasons, so that they are not also reported as missing. */
  readonly refused: ReadonlySet<string>
}

/**
 * Reads the central directory and compares it with the local headers, without unpacking anything.
 * @returns null if it is pointless to continue (not a ZIP file, too many files, too large); the errors include the
 * reason
 */
export async function readDirectory(zip: Buffer, limits: Limits, found: Findings): Promise<ZipDirectory | null> {
  const listing = await listEntries(zip, limits, found)
  if (listing === null) return null
  const { entries } = listing
  const unpacked = entries.reduce((sum, { entry }) => sum + entry.uncompressedSize, 0)
  if (unpacked > limits.BUNDLE_UNPACKED) {
    const message = `the unpacked files are ${unpacked} bytes in total; BUNDLE_UNPACKED allows at most ${limits.BUNDLE_UNPACKED}`
    found.fault(WHOLE_BUNDLE, 'too_large', message)
    return null
  }
  for (const listed of entries) checkEntry(listed, found)
  const sound = await checkLocalEntries(zip, listing, found)
  refuseDuplicates(entries, found)
  return {
    entries: entries
      .filter((listed) => !listed.refused)
      .map((listed) => ({
        name: listed.name,
        stored: listed.entry.compressionMethod === 0,
        crc32: listed.entry.crc32,
        size: listed.entry.uncompressedSize,
        packed: sound.get(listed) as Uint8Array,
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    refused: new Set(
      entries.filter(({ refused, name }) => refused && problemOfName(name) === null).map(({ name }) => name),
    ),
  }
}

async function listEntries(zip: Buffer, limits: Limits, found: Findings): Promise<Listing | null> {
  const entries: ListedEntry[] = []
  let count = 0
  try {
    const file = await fromBufferPromise(zip, { decodeStrings: false, validateEntrySizes: false })
    const directoryStart = cursor(file)
    for await (const entry of file.eachEntry()) {
      if (++count > ENTRIES_PER_FILE * limits.BUNDLE_FILES) return tooMany(limits, found)
      const listed = { name: decodeName(entry.fileNameRaw), entry, refused: false }
      if (isSkipped(listed, found)) continue
      if (entries.push(listed) > limits.BUNDLE_FILES) return tooMany(limits, found)
    }
    const lie = checkEndRecord(zip, file, directoryStart, cursor(file))
    if (lie === null) return { file, entries, directoryStart }
    found.fault(WHOLE_BUNDLE, 'zip_invalid', `${lie}; create the ZIP file again`)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    // yauzl fails on flag bit 6. For the author, the mistake is the same as with bit 0.
    if (reason.includes('encryption'))
      found.fault(WHOLE_BUNDLE, 'zip_entry_method', 'the ZIP file is encrypted; create it without a password')
    else found.fault(WHOLE_BUNDLE, 'zip_invalid', `the ZIP file cannot be read (${showName(reason)}); create it again`)
  }
  return null
}

/** The offset where yauzl reads its next directory record. Its type declarations wrongly declare it as boolean. */
function cursor(file: ZipFile): number {
  return Number(file.readEntryCursor)
}

function tooMany(limits: Limits, found: Findings): null {
  found.fault(
    WHOLE_BUNDLE,
    'too_many_files',
    `the bundle has more files than BUNDLE_FILES allows (${limits.BUNDLE_FILES})`,
  )
  return null
}

function decodeName(raw: Buffer): string {
  return decodeUtf8(raw) ?? raw.toString('latin1')
}

/**
 * Folders and files that macOS adds are ignored, whatever they contain. Any other folder entry with content is an
 * error.
 */
function isSkipped({ name, entry }: ListedEntry, found: Findings): boolean {
  if (name.startsWith('__MACOSX/') || name === '.DS_Store' || name.endsWith('/.DS_Store')) return true
  if (!name.endsWith('/')) return false
  if (entry.uncompressedSize > 0) {
    found.fault(
      showName(name),
      'zip_entry_kind',
      `the ZIP entry for the folder "${showName(name)}" must be empty, but has content; create the ZIP file again`,
    )
  }
  return true
}

function checkEntry(listed: ListedEntry, found: Findings): void {
  const { name, entry } = listed
  const shown = showName(name)
  const nameProblem = problemOfName(name)
  const kindProblem = problemOfKind(entry)
  const methodProblem = problemOfMethod(entry)
  if (nameProblem !== null) found.fault(shown, 'name_invalid', `the name "${shown}" ${nameProblem}`)
  if (kindProblem !== null) found.fault(shown, 'zip_entry_kind', `"${shown}" ${kindProblem}`)
  if (methodProblem !== null) found.fault(shown, 'zip_entry_method', `"${shown}" ${methodProblem}`)
  if (nameProblem !== null || kindProblem !== null || methodProblem !== null) listed.refused = true
}

function problemOfKind(entry: Entry): string | null {
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE_BITS
  const isDosFolder = entry.versionMadeBy >> 8 === 0 && (entry.externalFileAttributes & DOS_FOLDER) !== 0
  if (type === 0o120000) return 'is a symbolic link; replace it with a copy of the file'
  if ((type !== 0 && type !== REGULAR_FILE) || isDosFolder)
    return 'is not a regular file; only regular files are allowed'
  return null
}

function problemOfMethod(entry: Entry): string | null {
  if ((entry.generalPurposeBitFlag & 0b1) !== 0) return 'is encrypted; create the ZIP file without a password'
  if ((entry.generalPurposeBitFlag & REFUSED_FLAGS) !== 0)
    return 'is encrypted or contains patch data; create the ZIP file without encryption and patches'
  if (entry.compressionMethod !== 0 && entry.compressionMethod !== 8) {
    return `uses the compression method ${entry.compressionMethod}; only 0 (stored) and 8 (deflated) are supported`
  }
  return null
}

/**
 * Names that differ only in case or Unicode normalisation form would refer to one file on some disks and to two files
 * on others.
 */
function refuseDuplicates(entries: readonly ListedEntry[], found: Findings): void {
  const folders = new Set<string>()
  const byKey = new Map<string, ListedEntry>()
  for (const { name } of entries) {
    if (problemOfName(name) !== null) continue
    const key = nameKey(name)
    for (let slash = key.indexOf('/'); slash !== -1; slash = key.indexOf('/', slash + 1))
      folders.add(key.slice(0, slash))
  }
  for (const listed of entries) {
    // Skip long names, which have already been rejected: normalising takes quadratic time in the length of the name.
    if (listed.name.length > MAX_PATH) continue
    const key = nameKey(listed.name)
    const shown = showName(listed.name)
    const other = byKey.get(key)
    if (other !== undefined) {
      listed.refused = other.refused = true
      const message =
        listed.name === other.name
          ? `"${shown}" is in the ZIP file twice; remove one of the two files`
          : `"${shown}" and "${showName(other.name)}" differ only in case or Unicode normalization; rename or remove one`
      found.fault(shown, 'name_duplicate', message)
    } else if (folders.has(key)) {
      listed.refused = true
      found.fault(shown, 'name_duplicate', `"${shown}" is both a file and a folder; rename one`)
    }
    byKey.set(key, listed)
  }
}
