import { MANIFEST } from '../../runtime/bundle/layout.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { SolutionStore, VersionSummary } from '../solutions/solution-store.ts'
import type { Uploads } from '../solutions/upload.ts'
import { createDraftChecks, type DraftChecks } from './check-draft.ts'
import { bundleOfDraft, type DraftBundle } from './draft-bundle.ts'
import { type DraftFile, type Files, fileNotFound, listFiles, needName, removedFiles } from './draft-files.ts'
import type { Draft, DraftEntries, DraftStore } from './draft-store.ts'
import { createDraftEditor, type DraftEditor, type DraftOf } from './edit-draft.ts'
import { nextVersion, versionIn } from './manifest-version.ts'
import { createVersionFiles, type VersionFiles } from './version-files.ts'

export type VersionRef = { readonly sha256: string; readonly version: string }

export type ShownDraft = Omit<Draft, 'base'> & {
  readonly isOwn: boolean
  readonly base: VersionRef | null
  readonly changedFiles: number
}

export type ShownDraftWithFiles = ShownDraft & {
  readonly files: readonly DraftFile[]
  readonly removed: readonly string[]
  readonly active: VersionRef | null
  readonly nextVersion: string
}

export type ReadFile = {
  readonly path: string
  readonly etag: string
  readonly bytes: number
  readonly content: Uint8Array
}

/** Reads drafts, their files and the files of versions for the workbench. */
export interface Drafts extends DraftChecks {
  readonly editor: DraftEditor
  readonly versions: VersionFiles
  list(solution: string, reader: string): Promise<readonly ShownDraft[]>
  /** @param reader the caller's name, as in the audit log */
  show(of: DraftOf, reader: string): Promise<ShownDraftWithFiles>
  /** @throws ERR_FILE_NOT_FOUND, ERR_DRAFT_NOT_FOUND, ERR_VERSION_NOT_FOUND */
  file(of: DraftOf, path: string, whose: 'draft' | 'base' | 'active'): Promise<ReadFile & { revision: number }>
  /** @throws ERR_FILE_NOT_FOUND, ERR_VERSION_NOT_FOUND */
  versionFile(solution: string, sha256: string, path: string): Promise<ReadFile>
  active(solution: string): Promise<VersionRef | null>
  /** Returns the version with this SHA-256, including its version number. */
  version(solution: string, sha256: string | null): Promise<VersionRef | null>
  bundle(of: DraftOf): Promise<DraftBundle>
}

export type DraftsParts = {
  readonly draftStore: DraftStore
  readonly store: SolutionStore
  readonly uploads: Pick<Uploads, 'check'>
  readonly supervisor: Pick<Supervisor, 'needRoom'>
  readonly limits: Limits
}

export function createDrafts({ draftStore, store, uploads, supervisor, limits }: DraftsParts): Drafts {
  const versions = createVersionFiles(store, supervisor, limits)
  const bundleParts = { drafts: draftStore, versions, store }
  const checks = createDraftChecks({ ...bundleParts, uploads })

  const listOf = (solution: string, sha256: string | null): Promise<Files> | Files =>
    sha256 === null ? new Map() : versions.list(solution, sha256)

  async function version(solution: string, sha256: string | null): Promise<VersionRef | null> {
    return sha256 === null ? null : refOf(await store.versions(solution), sha256)
  }

  async function active(solution: string): Promise<VersionRef | null> {
    return version(solution, await store.activeSha256(solution))
  }

  async function versionFile(solution: string, sha256: string, path: string): Promise<ReadFile> {
    needName(path)
    const facts = (await versions.list(solution, sha256)).get(path)
    const content = facts === undefined ? null : await versions.read(solution, sha256, path)
    if (facts === undefined || content === null) throw fileNotFound(path)
    return { path, ...facts, content }
  }

  async function ownFile(draft: Draft, path: string): Promise<ReadFile> {
    needName(path)
    const entry = (await draftStore.entries(draft.id)).get(path)
    if (entry === undefined && draft.base !== null) return versionFile(draft.solution, draft.base, path)
    const content = entry === undefined ? null : await draftStore.content(draft.id, path)
    if (entry === undefined || entry.etag === null || content === null) throw fileNotFound(path)
    return { path, etag: entry.etag, bytes: content.length, content }
  }

  /**
   * Returns the version number to suggest: the one in the draft's manifest if the author has changed it, otherwise the
   * one after the active version.
   */
  async function proposedVersion(draft: Draft, entries: DraftEntries, now: VersionRef | null): Promise<string> {
    const content = entries.has(MANIFEST) ? await draftStore.content(draft.id, MANIFEST) : null
    const written = content === null ? null : versionIn(content)
    if (written !== null && written !== now?.version) return written
    return now === null ? '1.0.0' : nextVersion(now.version)
  }

  return {
    ...checks,
    editor: createDraftEditor({ drafts: draftStore, versions, limits }),
    versions,
    versionFile,
    active,
    version,
    bundle: (of) => bundleOfDraft(of, bundleParts),
    async list(solution, reader) {
      const [drafts, known] = await Promise.all([draftStore.list(solution), store.versions(solution)])
      return drafts.map((draft) => {
        const base = draft.base === null ? null : refOf(known, draft.base)
        return { ...draft, base, isOwn: draft.owner === reader }
      })
    },
    async show({ solution, id }, reader) {
      const draft = await draftStore.need(solution, id)
      const [entries, base] = await Promise.all([draftStore.entries(id), listOf(solution, draft.base)])
      const now = await active(solution)
      return {
        ...draft,
        base: await version(solution, draft.base),
        isOwn: draft.owner === reader,
        changedFiles: entries.size,
        files: listFiles(base, entries),
        removed: removedFiles(base, entries),
        active: now,
        nextVersion: await proposedVersion(draft, entries, now),
      }
    },
    async file({ solution, id }, path, whose) {
      const draft = await draftStore.need(solution, id)
      if (whose === 'draft') return { ...(await ownFile(draft, path)), revision: draft.revision }
      const sha256 = whose === 'base' ? draft.base : await store.activeSha256(solution)
      if (sha256 === null) throw fileNotFound(path)
      return { ...(await versionFile(solution, sha256, path)), revision: draft.revision }
    },
  }
}

/** If another host has just erased the version, its version number is unknown. */
function refOf(known: readonly VersionSummary[], sha256: string): VersionRef {
  return { sha256, version: known.find((one) => one.sha256 === sha256)?.version ?? '' }
}
