import { hash } from 'node:crypto'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { SolutionName } from '../../base/protocol/protocol.ts'
import type { Fault, Warning } from '../../runtime/bundle/faults.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { CenterDatabase } from '../database/tables.ts'
import type { BundleChecks } from './bundle-checks.ts'
import { createPackageRows, type Package, type PackageRows } from './package-rows.ts'
import type { Storage } from './storage.ts'

export type UploadedPackage = {
  readonly name: string
  readonly version: string
  readonly sha256: string
  readonly warnings: readonly Warning[]
  /** False if the same bundle was already uploaded. */
  readonly isNew: boolean
}

/**
 * Describes what uses a version; null if nothing does. Code that stores a new use of a version must first call
 * `lockVersion` in the same transaction.
 * @param db the transaction that deletes the version
 */
export type VersionHolder = (
  db: CenterDatabase,
  organisation: string,
  name: string,
  sha256: string,
) => Promise<string | null>

/** The packages of all organisations. The first argument of every method is the organisation's id. */
export type Packages = Pick<PackageRows, 'list' | 'find' | 'findVersion' | 'bundle' | 'stamp'> & {
  /**
   * Checks a bundle in the same way as a host, and stores it.
   * @param expectedName the name in the path; null to use the name in the bundle's manifest
   * @throws ERR_NAME_DIFFERS, ERR_BUNDLE_TOO_LARGE, ERR_BUNDLE_REFUSED with every error, ERR_MEMORY_FULL,
   *   ERR_SANDBOX_BUSY
   */
  upload(organisation: string, packed: Uint8Array, expectedName: string | null, by: string): Promise<UploadedPackage>
  /** @throws ERR_NOT_FOUND */
  need(organisation: string, name: string): Promise<Package>
  /** Registers a function that reports whether a version is in use, for example in an environment's desired state. */
  heldBy(holder: VersionHolder): void
  /**
   * Deletes a version. Also deletes the package if this was its last version.
   * @throws ERR_VERSION_NOT_FOUND, ERR_VERSION_IN_USE
   */
  removeVersion(organisation: string, name: string, sha256: string): Promise<void>
}

/** @param now returns the current time in epoch milliseconds */
export function createPackages(
  db: CenterDatabase,
  checks: Pick<BundleChecks, 'check'>,
  storage: Storage,
  now: () => number = Date.now,
): Packages {
  const holders: VersionHolder[] = []
  const rows = createPackageRows(db, now)

  return {
    ...rows,
    async upload(organisation, packed, expectedName, by) {
      const sha256 = hash('sha256', packed, 'hex')
      const known = expectedName === null ? null : await rows.findVersion(organisation, expectedName, sha256)
      if (known !== null && expectedName !== null) {
        return { name: expectedName, version: known.version, sha256, warnings: [], isNew: false }
      }
      const { bundle, faults, warnings } = await checks.check(packed)
      if (bundle === null) throw refused(faults, warnings)
      const { name, version } = bundle.manifest
      if (expectedName !== null && name !== expectedName) throw nameDiffers(name, expectedName)
      if ((await rows.findVersion(organisation, name, sha256)) === null) {
        await storage.needRoom(organisation, bundle.bytes)
      }
      const isNew = await rows.add(organisation, bundle, packed, by)
      return { name, version, sha256, warnings, isNew }
    },
    async need(organisation, name) {
      const found = await rows.find(organisation, name)
      if (found !== null) return found
      throw new PlatformError('ERR_NOT_FOUND', `There is no package "${name.slice(0, 100)}". Check the name.`)
    },
    heldBy: (holder) => void holders.push(holder),
    async removeVersion(organisation, name, sha256) {
      const isRemoved = await rows.remove(organisation, name, sha256, async (transaction) => {
        for (const holder of holders) {
          const use = await holder(transaction, organisation, name, sha256)
          if (use === null) continue
          throw new PlatformError('ERR_VERSION_IN_USE', `Version ${sha256} of "${name}" cannot be deleted: ${use}.`)
        }
      })
      if (!isRemoved) throw versionNotFound(name, sha256)
    },
  }
}

/** Returns the package name from a path's parameters. @throws ERR_NOT_FOUND for an invalid name */
export function packageNameOf(params: { readonly name?: string }): string {
  const name = SolutionName.safeParse(params.name)
  if (name.success) return name.data
  throw new PlatformError(
    'ERR_NOT_FOUND',
    `There is no package "${String(params.name).slice(0, 100)}". Check the name.`,
  )
}

function nameDiffers(name: string, expected: string): PlatformError {
  return new PlatformError(
    'ERR_NAME_DIFFERS',
    `The bundle’s manifest has the name "${name}". Upload it as "${name}", or change "name" in solution.json to "${expected}".`,
  )
}

function refused(faults: readonly Fault[], warnings: readonly Warning[]): PlatformError {
  const isTooLarge = faults.every(({ code }) => code === 'too_large' || code === 'too_many_files')
  const count = faults.length === 1 ? 'one error' : `${faults.length} errors`
  return new PlatformError(
    isTooLarge ? 'ERR_BUNDLE_TOO_LARGE' : 'ERR_BUNDLE_REFUSED',
    `The bundle has ${count}, so it was not stored. Fix the bundle and upload it again.`,
    { faults, warnings },
  )
}
