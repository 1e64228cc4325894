import { hash } from 'node:crypto'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { whyNotAtStart } from '../../runtime/memory-full.ts'
import type { SolutionStore } from './solution-store.ts'
import type { Uploads } from './upload.ts'

export type BakedInParts = {
  /** The value of `SOLUTIONS_FOLDER`; '' if it is not set. Each `{name}.zip` in this folder is a solution's bundle. */
  readonly folder: string
  readonly store: Pick<SolutionStore, 'hasVersion'>
  readonly uploads: Pick<Uploads, 'upload'>
  readonly limits: Limits
  readonly log: Pick<Logger, 'info' | 'error'>
}

/** Maximum number of bundles in the folder. Chosen here: a folder with more zip files is probably the wrong folder. */
const MOST_SOLUTIONS = 200

/**
 * Uploads the solutions that are included in the image. Like any upload, they are checked, loaded, then activated. A
 * bundle is skipped if it is already stored as a version, because an operator or the control center may have activated
 * another one since. Errors are logged and don't prevent the host from starting.
 */
export async function addBakedIn(parts: BakedInParts): Promise<void> {
  const { folder, log } = parts
  if (folder === '') return
  for (const file of await zipsIn(parts)) {
    try {
      await addOne(parts, file)
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      const { faults } = error.details as { faults?: readonly object[] }
      const details = { code: error.code, ...(faults === undefined ? {} : { faults: faults.slice(0, 50) }) }
      log.error(details, `the solution ${join(folder, file)} was not added: ${whyNotAtStart(error)}`)
    }
  }
}

async function zipsIn({ folder, log }: BakedInParts): Promise<readonly string[]> {
  try {
    const zips = (await readdir(folder)).filter((name) => name.endsWith('.zip')).sort()
    if (zips.length <= MOST_SOLUTIONS) return zips
    log.error(
      `SOLUTIONS_FOLDER=${folder} contains ${zips.length} ZIP files, so none were added; remove some, because at most ${MOST_SOLUTIONS} are allowed`,
    )
  } catch (error) {
    log.error(`SOLUTIONS_FOLDER=${folder} cannot be read: ${(error as Error).message}`)
  }
  return []
}

async function addOne({ folder, store, uploads, limits, log }: BakedInParts, file: string): Promise<void> {
  const name = file.slice(0, -'.zip'.length)
  const packed = await readBundleFile(join(folder, file), limits.BUNDLE_SIZE)
  if (await store.hasVersion(name, hash('sha256', packed, 'hex'))) return
  const { version, sha256 } = await uploads.upload(packed, name)
  log.info({ solution: name, version, sha256 }, 'uploaded and activated a solution from SOLUTIONS_FOLDER')
}

/** @throws ERR_BUNDLE_TOO_LARGE, or ERR_BUNDLE_REFUSED if the bundle can't be read */
async function readBundleFile(path: string, limit: number): Promise<Buffer> {
  let file: FileHandle | null = null
  try {
    file = await open(path)
    const { size } = await file.stat()
    if (size > limit)
      throw new PlatformError(
        'ERR_BUNDLE_TOO_LARGE',
        `the bundle is ${size} bytes, but BUNDLE_SIZE allows at most ${limit}. Increase BUNDLE_SIZE or make the bundle smaller.`,
      )
    return await file.readFile()
  } catch (error) {
    if (error instanceof PlatformError) throw error
    throw new PlatformError(
      'ERR_BUNDLE_REFUSED',
      `the file cannot be read: ${(error as Error).message}`,
      {},
      { cause: error },
    )
  } finally {
    await file?.close()
  }
}
