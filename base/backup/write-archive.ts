import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { open, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ZipFile } from 'yazl'
import { PlatformError } from '../../runtime/errors.ts'
import { type BackupManifest, type BackupPart, MANIFEST } from './manifest.ts'

/** Writes a backup, one part at a time. Parts are streamed, so they are never completely in memory. */
export type ArchiveWriter = {
  /**
   * Resolves when the part is written. `rows` is called at the end of the part, and returns the number of rows in it.
   */
  add(name: string, content: AsyncIterable<Uint8Array>, rows?: () => number): Promise<BackupPart>
  parts(): Readonly<Record<string, BackupPart>>
}

/**
 * Writes a new file with mode 0600, because it contains secrets. If `fill` fails, the file is deleted.
 * @param fill adds the parts and returns the manifest's other properties
 * @throws ERR_BACKUP_FAILED if the file already exists or cannot be written
 */
export async function writeArchive(
  file: string,
  fill: (writer: ArchiveWriter) => Promise<Omit<BackupManifest, 'parts'>>,
): Promise<BackupManifest> {
  const handle = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    const why = WHY_NOT_MADE[error.code ?? ''] ?? error.message
    throw new PlatformError('ERR_BACKUP_FAILED', `Cannot create ${file}: ${why}.`, {}, { cause: error })
  })
  const zip = new ZipFile()
  try {
    const written = pipeline(zip.outputStream, handle.createWriteStream({ flush: true }))
    // Only the output stream reports that the disk is full. That error must also reach a caller that is waiting for a
    // part.
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
    throw new PlatformError(
      'ERR_BACKUP_FAILED',
      `Cannot write the backup ${file}: ${message}. The incomplete file was deleted. Fix the problem, then back up again.`,
      {},
      { cause: error },
    )
  }
}

/** Messages by error code. They replace the operating system's messages. */
const WHY_NOT_MADE: Readonly<Record<string, string>> = {
  EEXIST: 'the file already exists. Choose another name',
  ENOENT: 'its folder does not exist. Create the folder or choose another one',
  EACCES: 'this account has no write access to its folder. Choose another folder, such as PLATFORM_HOME',
  EROFS: 'its folder is on a read-only file system. Choose another folder, such as PLATFORM_HOME',
}

/** A low compression level saves CPU time for the host. It is enough, because bundles are already compressed. */
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
