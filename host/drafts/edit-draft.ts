import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { contentEtag } from '../solutions/content-etag.ts'
import {
  type ExpectedFile,
  type Files,
  fileNotFound,
  filesOf,
  needExpected,
  needName,
  needPlace,
  needSize,
} from './draft-files.ts'
import type { Draft, DraftChange, DraftStore } from './draft-store.ts'
import type { FileFacts, VersionFiles } from './version-files.ts'

export type EditedFile = FileFacts & { readonly path: string; readonly revision: number }

/**
 * Changes the files of a draft. Each change contains the etag of the content that the author has read. So nobody can
 * overwrite changes that someone else has saved.
 */
export interface DraftEditor {
  /** Writes a file. Writing unchanged content also succeeds, because a client may retry after a lost response. */
  write(of: DraftOf, path: string, content: Uint8Array, expected: ExpectedFile): Promise<EditedFile>
  /** @returns the new revision */
  remove(of: DraftOf, path: string, expected: string): Promise<number>
  /** @throws ERR_FILE_EXISTS */
  rename(of: DraftOf, names: { readonly from: string; readonly to: string }, expected: string): Promise<EditedFile>
  /**
   * Restores a file's content from the draft's base, or removes the file if the base doesn't contain it.
   * @returns `etag` is null if the file was removed
   */
  revert(of: DraftOf, path: string, expected: ExpectedFile): Promise<{ etag: string | null; revision: number }>
}

export type DraftOf = { readonly solution: string; readonly id: string }

export type DraftEditorParts = {
  readonly drafts: Pick<DraftStore, 'change' | 'content'>
  readonly versions: Pick<VersionFiles, 'list' | 'read'>
  readonly limits: Limits
}

const NO_FILES: Files = new Map()

export function createDraftEditor({ drafts, versions, limits }: DraftEditorParts): DraftEditor {
  const baseOf = (draft: Draft) => (draft.base === null ? NO_FILES : versions.list(draft.solution, draft.base))

  async function contentOf(draft: Draft, path: string): Promise<Uint8Array> {
    const own = await drafts.content(draft.id, path)
    const content = own ?? (draft.base === null ? null : await versions.read(draft.solution, draft.base, path))
    if (content === null) throw fileNotFound(path)
    return content
  }

  /** Returns the change to the draft that writes a file. @param base the file at this path in the draft's base */
  function written(path: string, content: Uint8Array, base: FileFacts | undefined): DraftChange {
    return base?.etag === contentEtag(content) ? { drop: [path] } : { put: new Map([[path, content]]) }
  }

  function without(path: string, base: FileFacts | undefined): DraftChange {
    return base === undefined ? { drop: [path] } : { put: new Map([[path, null]]) }
  }

  return {
    async write({ solution, id }, path, content, expected) {
      needName(path)
      needSize(path, content, limits)
      const facts = { etag: contentEtag(content), bytes: content.length }
      const { revision } = await drafts.change(solution, id, async (draft, entries) => {
        const base = await baseOf(draft)
        const files = filesOf(base, entries)
        if (files.get(path)?.etag === facts.etag) return null
        needExpected(path, files, expected, draft.revision)
        needPlace(path, new Map([...files, [path, facts]]), limits)
        return written(path, content, base.get(path))
      })
      return { path, ...facts, revision }
    },
    async remove({ solution, id }, path, expected) {
      needName(path)
      const changed = await drafts.change(solution, id, async (draft, entries) => {
        const base = await baseOf(draft)
        needExpected(path, filesOf(base, entries), expected, draft.revision)
        return without(path, base.get(path))
      })
      return changed.revision
    },
    async rename({ solution, id }, { from, to }, expected) {
      needName(from)
      needName(to)
      let facts: FileFacts = { etag: expected, bytes: 0 }
      const { revision } = await drafts.change(solution, id, async (draft, entries) => {
        const base = await baseOf(draft)
        const files = new Map(filesOf(base, entries))
        needExpected(from, files, expected, draft.revision)
        if (from === to) return null
        facts = files.get(from) ?? facts
        files.delete(from)
        if (files.has(to))
          throw new PlatformError('ERR_FILE_EXISTS', `There is already a file "${to}". Choose another name.`, {
            path: to,
          })
        needPlace(to, files.set(to, facts), limits)
        const content = await contentOf(draft, from)
        needSize(to, content, limits)
        const [one, other] = [without(from, base.get(from)), written(to, content, base.get(to))]
        return {
          put: new Map([...(one.put ?? []), ...(other.put ?? [])]),
          drop: [...(one.drop ?? []), ...(other.drop ?? [])],
        }
      })
      return { path: to, ...facts, revision }
    },
    async revert({ solution, id }, path, expected) {
      needName(path)
      let etag: string | null = null
      const { revision } = await drafts.change(solution, id, async (draft, entries) => {
        const base = await baseOf(draft)
        const files = new Map(filesOf(base, entries))
        needExpected(path, files, expected, draft.revision)
        const before = base.get(path)
        etag = before?.etag ?? null
        if (!entries.has(path)) return null
        if (before !== undefined) needPlace(path, files.set(path, before), limits)
        return { drop: [path] }
      })
      return { etag, revision }
    },
  }
}
