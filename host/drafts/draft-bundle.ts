import { hash } from 'node:crypto'
import { packFiles } from '../../base/bundles/pack.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import type { Draft, DraftStore } from './draft-store.ts'
import type { DraftOf } from './edit-draft.ts'
import type { VersionFiles } from './version-files.ts'

export type DraftContents = {
  readonly draft: Draft
  /** All files, sorted by path. */
  readonly files: ReadonlyMap<string, Uint8Array>
  /** The files of the draft's base version. */
  readonly baseFiles: ReadonlyMap<string, Uint8Array>
  /** New contents of the files that the draft changes, by path; null for a file that it deletes. */
  readonly changes: ReadonlyMap<string, Uint8Array | null>
}

export type DraftBundle = DraftContents & { readonly packed: Uint8Array; readonly sha256: string }

export type DraftBundleParts = {
  readonly drafts: Pick<DraftStore, 'need' | 'contents'>
  readonly versions: Pick<VersionFiles, 'readAll'>
  readonly store: Pick<SolutionStore, 'bundle'>
}

const MOST_ATTEMPTS = 5
const NO_FILES: ReadonlyMap<string, Uint8Array> = new Map()

/** Reads all files of a draft at one revision. @throws ERR_DRAFT_NOT_FOUND */
export async function readDraft({ solution, id }: DraftOf, parts: DraftBundleParts): Promise<DraftContents> {
  const { drafts, versions } = parts
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const draft = await drafts.need(solution, id)
    const changes = await drafts.contents(id)
    const baseFiles = draft.base === null ? NO_FILES : await versions.readAll(solution, draft.base)
    // If someone saved a file in the meantime, read everything again.
    if ((await drafts.need(solution, id)).revision !== draft.revision) continue
    const files = new Map(baseFiles)
    for (const [path, content] of changes) {
      if (content === null) files.delete(path)
      else files.set(path, content)
    }
    return { draft, files: sorted(files), baseFiles, changes }
  }
  throw new PlatformError(
    'ERR_CHANGED_MEANWHILE',
    'The draft was changed several times while it was being read. Try again.',
  )
}

/** Packs the draft as a bundle. If the draft has no changes, returns its base's bundle unmodified. */
export async function bundleOfDraft(of: DraftOf, parts: DraftBundleParts): Promise<DraftBundle> {
  const contents = await readDraft(of, parts)
  const { base } = contents.draft
  const packed =
    base !== null && contents.changes.size === 0
      ? await parts.store.bundle(of.solution, base)
      : await packSorted(contents.files)
  if (packed === null) throw versionNotFound(of.solution, base ?? '')
  return { ...contents, packed, sha256: hash('sha256', packed, 'hex') }
}

export function packSorted(files: ReadonlyMap<string, Uint8Array>): Promise<Buffer> {
  return packFiles([...sorted(files)].map(([path, content]) => [path, Buffer.from(content)] as const))
}

function sorted(files: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, Uint8Array> {
  return new Map([...files].sort(([one], [other]) => (one < other ? -1 : 1)))
}
