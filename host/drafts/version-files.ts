import { createBundleTurns } from '../../base/bundles/bundle-turns.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { unpackBundle } from '../../runtime/bundle/unpack-bundle.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import { contentEtag } from '../solutions/content-etag.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'

export type FileFacts = { readonly etag: string; readonly bytes: number }

/** Reads the files of stored versions. */
export interface VersionFiles {
  /** Returns the sizes and etags of the files by path, sorted. @throws ERR_VERSION_NOT_FOUND */
  list(solution: string, sha256: string): Promise<ReadonlyMap<string, FileFacts>>
  /** @returns null if the version has no such file. @throws ERR_VERSION_NOT_FOUND */
  read(solution: string, sha256: string, path: string): Promise<Uint8Array | null>
  /** @throws ERR_VERSION_NOT_FOUND */
  readAll(solution: string, sha256: string): Promise<ReadonlyMap<string, Uint8Array>>
}

/** Maximum number of cached file lists. Lists are small, and each request for a draft needs its base's list. */
const CACHED_LISTS = 20

export function createVersionFiles(
  store: Pick<SolutionStore, 'bundle' | 'hasVersion'>,
  supervisor: Pick<Supervisor, 'needRoom'>,
  limits: Limits,
): VersionFiles {
  const inTurn = createBundleTurns('bundles', supervisor.needRoom, limits)
  /** Cached file lists, least recently used first. */
  const lists = new Map<string, ReadonlyMap<string, FileFacts>>()

  async function unpack(
    solution: string,
    sha256: string,
    isWanted: (name: string) => boolean,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const packed = await store.bundle(solution, sha256)
    if (packed === null) throw versionNotFound(solution, sha256)
    return inTurn(packed, () => unpackBundle(packed, limits, isWanted))
  }

  async function listOf(solution: string, sha256: string): Promise<ReadonlyMap<string, FileFacts>> {
    const key = `${solution}@${sha256}`
    const known = lists.get(key)
    // Another host may have erased the version in the meantime.
    if (known !== undefined && !(await store.hasVersion(solution, sha256))) throw versionNotFound(solution, sha256)
    const list = known ?? factsOf(await unpack(solution, sha256, () => true))
    lists.delete(key)
    lists.set(key, list)
    for (const oldest of lists.keys()) if (lists.size > CACHED_LISTS) lists.delete(oldest)
    return list
  }

  return {
    list: listOf,
    read: async (solution, sha256, path) => (await unpack(solution, sha256, (name) => name === path)).get(path) ?? null,
    readAll: (solution, sha256) => unpack(solution, sha256, () => true),
  }
}

export function factsOf(files: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, FileFacts> {
  return new Map(
    [...files].map(([path, content]) => [path, { etag: contentEtag(content), bytes: content.length }] as const),
  )
}
