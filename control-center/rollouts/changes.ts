import type { VersionDifference } from '../../base/bundles/compare-versions.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { BundleChecks } from '../packages/bundle-checks.ts'
import type { Packages } from '../packages/packages.ts'
import type { DesiredVersion } from './version-before.ts'

/** A version as shown on the page. `uploadedAt` is in epoch ms, or null if the version is no longer stored. */
export type ShownVersion = DesiredVersion & { readonly uploadedAt: number | null }

/**
 * The changes that a rollout makes in a group of environments with the same current version. `first`: the environments
 * have no version yet. `same`: they already have this version. `gone`: one of the versions is no longer stored. `busy`:
 * the versions can't be compared now. `many`: there are too many different versions.
 */
export type RolloutChange = {
  readonly environments: readonly string[]
  readonly from: ShownVersion | null
  readonly to: ShownVersion
  readonly state: 'first' | 'same' | 'gone' | 'busy' | 'many' | 'compared'
  /** The files that differ, without their lines; null unless the state is `compared`. */
  readonly difference: VersionDifference | null
  /** Whether the new version was uploaded before the current one. */
  readonly isOlder: boolean
}

export type ChangeParts = {
  readonly packages: Pick<Packages, 'findVersion' | 'bundle'>
  readonly bundleChecks: Pick<BundleChecks, 'compare'>
}

export type WantedVersion = DesiredVersion & { readonly organisation: string; readonly package: string }
export type EnvironmentBefore = { readonly name: string; readonly before: DesiredVersion | null }

/** Maximum number of different versions that are compared for one page, so that the page loads quickly. */
const MOST_COMPARED = 5

/** @returns the changes in the order of the given environments */
export async function changesOf(
  { packages, bundleChecks }: ChangeParts,
  { organisation, package: name, sha256, version }: WantedVersion,
  environments: readonly EnvironmentBefore[],
): Promise<readonly RolloutChange[]> {
  const shown = async (one: DesiredVersion): Promise<ShownVersion> => {
    const stored = await packages.findVersion(organisation, name, one.sha256)
    return { sha256: one.sha256, version: one.version, uploadedAt: stored?.uploadedAt ?? null }
  }
  const to = await shown({ sha256, version })

  async function compare(from: string): Promise<Pick<RolloutChange, 'state' | 'difference'>> {
    const read = (one: string) => async () => {
      const packed = await packages.bundle(organisation, name, one)
      if (packed === null) throw versionNotFound(name, one)
      return packed
    }
    try {
      return { state: 'compared', difference: await bundleChecks.compare(read(from), read(sha256), false) }
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      return { state: error.code === 'ERR_VERSION_NOT_FOUND' ? 'gone' : 'busy', difference: null }
    }
  }

  const groups = [...Map.groupBy(environments, ({ before }) => before?.sha256 ?? null).values()]
  let compared = 0
  const changes: RolloutChange[] = []
  for (const group of groups) {
    const before = group[0]?.before ?? null
    const from = before === null ? null : await shown(before)
    const facts = { environments: group.map((one) => one.name), from, to, isOlder: isOlder(from, to) }
    if (from === null) changes.push({ ...facts, state: 'first', difference: null })
    else if (from.sha256 === sha256) changes.push({ ...facts, state: 'same', difference: null })
    else if (from.uploadedAt === null || to.uploadedAt === null) {
      changes.push({ ...facts, state: 'gone', difference: null })
    } else if (compared >= MOST_COMPARED) changes.push({ ...facts, state: 'many', difference: null })
    else {
      compared += 1
      changes.push({ ...facts, ...(await compare(from.sha256)) })
    }
  }
  return changes
}

function isOlder(from: ShownVersion | null, to: ShownVersion): boolean {
  return from !== null && from.uploadedAt !== null && to.uploadedAt !== null && to.uploadedAt < from.uploadedAt
}
