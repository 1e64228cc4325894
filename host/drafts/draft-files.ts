import { MAX_PATH, nameKey, problemOfName } from '../../runtime/bundle/file-names.ts'
import { largestFile } from '../../runtime/bundle/parts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { DraftEntries } from './draft-store.ts'
import type { FileFacts } from './version-files.ts'

export type Files = ReadonlyMap<string, FileFacts>
export type DraftFile = FileFacts & { readonly path: string; readonly change: 'none' | 'added' | 'changed' }

/** Returns a draft's files: those of its base, with the draft's changes applied. */
export function filesOf(base: Files, entries: DraftEntries): Files {
  const files = new Map(base)
  for (const [path, { etag, bytes }] of entries) {
    if (etag === null) files.delete(path)
    else files.set(path, { etag, bytes })
  }
  return files
}

/** Lists the draft's files, sorted by path, and how each differs from the base. */
export function listFiles(base: Files, entries: DraftEntries): DraftFile[] {
  return [...filesOf(base, entries)]
    .map(([path, facts]) => ({ path, ...facts, change: changeOf(base.get(path), facts) }))
    .sort((one, other) => (one.path < other.path ? -1 : 1))
}

function changeOf(before: FileFacts | undefined, { etag }: FileFacts): DraftFile['change'] {
  if (before === undefined) return 'added'
  return before.etag === etag ? 'none' : 'changed'
}

/** Returns the base's files that the draft deletes. */
export function removedFiles(base: Files, entries: DraftEntries): string[] {
  return [...entries].flatMap(([path, { etag }]) => (etag === null && base.has(path) ? [path] : [])).sort()
}

/** The etag of the file's content when the author read it; null if they expect that the file doesn't exist. */
export type ExpectedFile = string | null

/** Checks that the file is still the one that the author read. @throws ERR_CHANGED_MEANWHILE with the current etag */
export function needExpected(path: string, files: Files, expected: ExpectedFile, revision: number): void {
  const etag = files.get(path)?.etag ?? null
  if (etag === expected) return
  const now =
    etag === null ? 'no longer exists' : expected === null ? 'already exists' : 'has changed since you read it'
  const message = `The file "${path}" ${now}. Your change was not applied. Reload the draft, then try again.`
  throw new PlatformError('ERR_CHANGED_MEANWHILE', message, { path, etag, revision })
}

/** Checks that a file in a bundle can have this path. @throws ERR_REQUEST_INVALID */
export function needName(path: string): void {
  const problem = problemOfName(path)
  if (problem === null) return
  throw new PlatformError('ERR_REQUEST_INVALID', `The file name "${path.slice(0, MAX_PATH)}" ${problem}.`)
}

/** @throws ERR_BUNDLE_TOO_LARGE */
export function needSize(path: string, content: Uint8Array, limits: Limits): void {
  const most = largestFile(path, limits)
  if (content.length <= most) return
  const message = `"${path}" is ${content.length} bytes. At most ${most} bytes are allowed.`
  throw new PlatformError('ERR_BUNDLE_TOO_LARGE', message, { path, limit: most })
}

/**
 * Checks that a draft can have another file.
 * @param files all files of the draft, including the new one
 * @throws ERR_FILE_EXISTS, ERR_BUNDLE_TOO_LARGE
 */
export function needPlace(path: string, files: Files, limits: Limits): void {
  const key = nameKey(path)
  for (const other of files.keys()) {
    const otherKey = nameKey(other)
    if (other === path || (otherKey !== key && !isFolderOf(key, otherKey) && !isFolderOf(otherKey, key))) continue
    const reason =
      otherKey === key ? 'some file systems treat the two names as the same' : 'a file can’t also be a folder'
    const message = `"${path}" can’t be added, because "${other}" exists: ${reason}. Choose another name.`
    throw new PlatformError('ERR_FILE_EXISTS', message, { path, other })
  }
  if (files.size > limits.BUNDLE_FILES) {
    throw new PlatformError(
      'ERR_BUNDLE_TOO_LARGE',
      `A bundle can have at most ${limits.BUNDLE_FILES} files. Delete a file first.`,
    )
  }
  const bytes = [...files.values()].reduce((sum, facts) => sum + facts.bytes, 0)
  if (bytes <= limits.BUNDLE_UNPACKED) return
  const message = `With this file, the bundle would be ${bytes} bytes. At most ${limits.BUNDLE_UNPACKED} bytes are allowed. Delete other files, or make this one smaller.`
  throw new PlatformError('ERR_BUNDLE_TOO_LARGE', message)
}

function isFolderOf(folder: string, path: string): boolean {
  return path.startsWith(`${folder}/`)
}

export function fileNotFound(path: string): PlatformError {
  return new PlatformError(
    'ERR_FILE_NOT_FOUND',
    `There is no file "${path.slice(0, MAX_PATH)}". It may have been renamed or deleted.`,
  )
}
