import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { MANIFEST } from '../../runtime/bundle/layout.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { contentEtag } from '../solutions/content-etag.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import type { Uploaded, Uploads } from '../solutions/upload.ts'
import { type DraftBundleParts, packSorted, readDraft } from './draft-bundle.ts'
import { type Files, fileNotFound, filesOf } from './draft-files.ts'
import type { Draft, DraftEntries, DraftStore } from './draft-store.ts'
import type { DraftOf } from './edit-draft.ts'
import { withVersion } from './manifest-version.ts'
import type { VersionFiles } from './version-files.ts'

export type PublishParts = DraftBundleParts & {
  readonly drafts: DraftStore
  readonly versions: VersionFiles
  readonly store: Pick<SolutionStore, 'bundle' | 'hasVersion'>
  readonly uploads: Pick<Uploads, 'upload'>
}

export type Published<Shown> = { readonly uploaded: Shown; readonly revision: number }

/**
 * Uploads a draft as a version with the number `version`. The published version becomes the draft's base. The draft
 * then contains only changes that were saved in the meantime.
 * @param over the version that must be active; null if no version may be active
 * @param explain runs the upload of the packed bundle, and adds source lines to its errors and warnings
 * @throws ERR_CHANGED_MEANWHILE if another version is active, and the other errors of `Uploads.upload`
 */
export async function publishDraft<Shown extends Pick<Uploaded, 'sha256'>>(
  of: DraftOf,
  { over, version }: { readonly over: string | null; readonly version: string },
  parts: PublishParts,
  explain: (packed: Uint8Array, upload: () => Promise<Uploaded>) => Promise<Shown>,
): Promise<Published<Shown>> {
  const read = await readDraft(of, parts)
  const files = new Map(read.files)
  const manifest = files.get(MANIFEST)
  if (manifest === undefined) throw fileNotFound(MANIFEST)
  // If the manifest can't be read, the upload reports why.
  files.set(MANIFEST, withVersion(manifest, version) ?? manifest)
  const packed = await packSorted(files)
  const uploaded = await explain(packed, () => parts.uploads.upload(packed, of.solution, over))
  const revision = await rebaseOnPublished()
  return { uploaded, revision }

  async function rebaseOnPublished(): Promise<number> {
    try {
      const changed = await parts.drafts.change(of.solution, of.id, (draft, entries) => {
        return { base: uploaded.sha256, ...savedSince(draft, entries, read) }
      })
      return changed.revision
    } catch (error) {
      // Someone has discarded the draft in the meantime. The version is still activated.
      if (error instanceof PlatformError && error.code === 'ERR_DRAFT_NOT_FOUND') return read.draft.revision
      throw error
    }
  }
}

/** Returns the changes that someone saved after the draft was read. They are relative to the published version. */
function savedSince(
  draft: Draft,
  entries: DraftEntries,
  { draft: before, changes, baseFiles }: Awaited<ReturnType<typeof readDraft>>,
): { drop: string[]; put: Map<string, Uint8Array | null> } {
  const etagBefore = (path: string) => {
    const content = changes.get(path)
    return content === undefined ? undefined : content === null ? null : contentEtag(content)
  }
  const drop = [...entries].flatMap(([path, { etag }]) => (etagBefore(path) === etag ? [path] : []))
  // Someone reverted these files to the old base in the meantime. Compared with the new base, their content is a
  // change.
  const reverted = draft.base === before.base ? [...changes.keys()].filter((path) => !entries.has(path)) : []
  return { drop, put: new Map(reverted.map((path) => [path, baseFiles.get(path) ?? null] as const)) }
}

export type Choices = Readonly<Record<string, 'draft' | 'onto'>>

/** A file that changed both in the draft and in the new base. An etag is null if that side has no such file. */
export type Conflict = {
  readonly path: string
  readonly draft: string | null
  readonly base: string | null
  readonly onto: string | null
}

export type Rebased = {
  readonly isDone: boolean
  readonly draft: Draft
  /** Paths of the files whose content was taken from the new base. */
  readonly taken: readonly string[]
  readonly conflicts: readonly Conflict[]
}

/**
 * Makes another version the base of a draft. If a file changed on only one side, that side's content is used. If a file
 * changed on both sides and isn't in `choices`, the draft stays unchanged.
 * @throws ERR_VERSION_NOT_FOUND
 */
export async function rebaseDraft(
  of: DraftOf,
  onto: string,
  choices: Choices,
  { drafts, versions, store }: PublishParts,
): Promise<Rebased> {
  const { solution, id } = of
  const listOf = (sha256: string | null): Promise<Files> | Files =>
    sha256 === null ? new Map() : versions.list(solution, sha256)
  const newBase = await listOf(onto)
  let result: Omit<Rebased, 'draft'> = { isDone: false, taken: [], conflicts: [] }
  const draft = await drafts.change(solution, id, async (current, entries) => {
    const base = await listOf(current.base)
    const { drop, conflicts } = compare(base, newBase, entries, choices)
    const isDone = conflicts.length === 0
    const taken = isDone ? takenFrom(base, newBase, entries, drop) : []
    result = { isDone, taken, conflicts }
    return isDone && current.base !== onto ? { base: onto, drop } : null
  })
  // The version can't be erased while a draft is based on it, but it may have been erased just before that.
  if (!(await store.hasVersion(solution, onto))) throw versionNotFound(solution, onto)
  return { ...result, draft }
}

function compare(base: Files, onto: Files, entries: DraftEntries, choices: Choices) {
  const own = filesOf(base, entries)
  const drop: string[] = []
  const conflicts: Conflict[] = []
  for (const path of [...entries.keys()].sort()) {
    const [draftEtag, baseEtag, ontoEtag] = [own, base, onto].map((files) => files.get(path)?.etag ?? null) as [
      string | null,
      string | null,
      string | null,
    ]
    const choice = Object.hasOwn(choices, path) ? choices[path] : undefined
    if (draftEtag === ontoEtag) drop.push(path)
    else if (baseEtag === ontoEtag || choice === 'draft') continue
    else if (choice === 'onto') drop.push(path)
    else conflicts.push({ path, draft: draftEtag, base: baseEtag, onto: ontoEtag })
  }
  return { drop, conflicts }
}

function takenFrom(base: Files, onto: Files, entries: DraftEntries, drop: readonly string[]): string[] {
  const differs = (path: string) => base.get(path)?.etag !== onto.get(path)?.etag
  return [...new Set([...base.keys(), ...onto.keys()])]
    .filter((path) => differs(path) && (!entries.has(path) || drop.includes(path)))
    .sort()
}
