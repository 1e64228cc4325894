import { compareFiles, compareManifests, type VersionDifference } from '../../base/bundles/compare-versions.ts'
import { createQueue } from '../solutions/queue.ts'
import { bundleOfDraft, type DraftBundleParts } from './draft-bundle.ts'
import type { DraftOf } from './edit-draft.ts'
import { manifestIn } from './manifest-version.ts'

export type DraftDifference = Omit<VersionDifference, 'manifest'> & {
  readonly from: string | null
  readonly to: string
  readonly revision: number
  /** Null if either manifest is missing or has errors. */
  readonly manifest: VersionDifference['manifest'] | null
}

/** Only one comparison per solution runs at a time, because each keeps two unpacked bundles in memory. */
const inTurn = createQueue()

/**
 * Compares a draft with a version of its solution.
 * @param versionOf the version's SHA-256; null to compare with nothing
 */
export function diffDraft(
  of: DraftOf,
  versionOf: (draft: { readonly base: string | null }) => Promise<string | null>,
  parts: DraftBundleParts,
): Promise<DraftDifference> {
  return inTurn(of.solution, async () => {
    const { draft, files, sha256 } = await bundleOfDraft(of, parts)
    const from = await versionOf(draft)
    const before = from === null ? new Map<string, Uint8Array>() : await parts.versions.readAll(of.solution, from)
    const [one, other] = [manifestIn(before), manifestIn(files)]
    return {
      from,
      to: sha256,
      revision: draft.revision,
      ...(await compareFiles(before, files)),
      manifest: one === null || other === null ? null : compareManifests(one, other),
    }
  })
}
