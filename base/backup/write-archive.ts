import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { open, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ZipFile } from 'yazl'
import { PlatformError } from '../../runtime/errors.ts'
import { type BackupManifest, type BackupPart, MANIFEST } from './manifest.ts'

/** A backup that is being written: one part after the other, never more than a piece of one in memory. */
export type ArchiveWriter = {
  /** Resolves when the part is written. `rows` is asked at its end. */
  add(name: string, content: AsyncIterable<Uint8Array>, rows?: () => number): Promise<BackupPart>
  parts(): Readonly<Record<string, BackupPart>>
}

/**
 * Writes a new file for its owner alone (mode 0600): it holds secrets. When `fill` fails there is no file.
 * @param fill adds the parts and gives the manifest's other lines
 * @throws ERR_BACKUP_FAILED when the file is there already or cannot be written
 */
export async function writeArchive(
  file: string,
  fill: (writer: ArchiveWriter) => Promise<Omit<BackupManifest, 'parts'>>,
): Promise<BackupManifest> {
  const handle = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    const why = WHY_NOT_MADE[error.code ?? ''] ?? error.message
    throw new PlatformError('ERR_BACKUP_FAILED', `${file} cannot be made: ${why}.`, {}, { cause: error })
  })
  const zip = new ZipFile()
  try {
    const written = pipeline(zip.outputStream, handle.createWriteStream({ flush: true }))
    // Whoever waits for a part must hear of a full disk; what is waited for last tells it.
    const failed = new Promise<never>((_resolve, reject) => {
      zip.on('error', reject)
      written.catch(reject)
    })
    failed.catch(() => {})
    const parts: Record<string, BackupPart> = {}
    const manifest = await fill({
      parts: () => parts,
      async add(name, content, rows) {
        const adding = addPart(zip, name, content, rows)
        adding.catch(() => {})
        const part = await Promise.race([failed, adding])
        parts[name] = part
        return part
      },
    })
    const whole = { ...manifest, parts }
    zip.addBuffer(Buffer.from(JSON.stringify(whole, null, 1)), MANIFEST, OPTIONS)
    zip.end()
    await Promise.race([failed, written])
    return whole
  } catch (error) {
    ;(zip.outputStream as Readable).destroy()
    await handle.close().catch(() => {})
    await rm(file, { force: true })
    if (error instanceof PlatformError) throw error
    const { message } = error as Error
    throw new PlatformError('ERR_BACKUP_FAILED', `${file} cannot be written: ${message}.`, {}, { cause: error })
  }
}

/** What a person reads in place of the system's text, by its code. */
const WHY_NOT_MADE: Readonly<Record<string, string>> = {
  EEXIST: 'it is there already. Name a file that is not',
  ENOENT: 'its folder is not there. Make the folder, or name another one',
  EACCES: 'this account may not write into its folder. Name another one, such as PLATFORM_HOME',
  EROFS:
    'its folder cannot be written to by anybody (a read-only file system). Name another one, such as PLATFORM_HOME',
}

/** Bundles are packed already; a low level is enough for the rest, and leaves the processor to the host. */
const OPTIONS = { mode: 0o100600, compress: true, compressionLevel: 3 } as const

async function addPart(
  zip: ZipFile,
  name: string,
  content: AsyncIterable<Uint8Array>,
  rows: () => number = () => Number.NaN,
): Promise<BackupPart> {
  const hash = createHash('sha256')
  let bytes = 0
  async function* counted() {
    for await (const piece of content) {
      hash.update(piece)
      bytes += piece.length
      yield piece
    }
  }
  const stream = Readable.from(counted(), { objectMode: false, highWaterMark: 1024 * 1024 })
  zip.addReadStream(stream, name, OPTIONS)
  await once(stream, 'end')
  const count = rows()
  return { bytes, sha256: hash.digest('hex'), ...(Number.isNaN(count) ? {} : { rows: count }) }
}
