import { hash } from 'node:crypto'
import { SolutionName } from '../../host/cloud/protocol.ts'
import { createQueue } from '../../host/solutions/queue.ts'
import { versionNotFound } from '../../host/solutions/upload.ts'
import type { Fault, Warning } from '../../runtime/bundle/faults.ts'
import type { Bundle } from '../../runtime/bundle/read-bundle.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { firstRows, insertOnce } from '../database/portable.ts'
import type { CenterDatabase } from '../database/tables.ts'
import { type BuildStamp, readStamp } from './build-stamp.ts'
import type { BundleChecks } from './bundle-checks.ts'
import type { Storage } from './storage.ts'

/** A version of a package without its bytes. Times are epoch ms. */
export type PackageVersion = {
  readonly sha256: string
  readonly version: string
  readonly title: string
  readonly authenticator: string
  readonly bytes: number
  /** What the last pipeline run of it was told of its build; null: none. */
  readonly stamp: BuildStamp | null
  readonly uploadedAt: number
  /** As in the activity: `user:{name}` or `token:{id}`. */
  readonly uploadedBy: string
}

/** A solution of an organisation; `newest` is the version that was uploaded last, null when none is left. */
export type PackageSummary = { readonly name: string; readonly newest: PackageVersion | null }

export type Package = {
  readonly name: string
  /** The newest first, at most `MOST_LISTED`. */
  readonly versions: readonly PackageVersion[]
}

export type UploadedPackage = {
  readonly name: string
  readonly version: string
  readonly sha256: string
  readonly warnings: readonly Warning[]
  /** False when the same bundle was there before. */
  readonly isNew: boolean
}

/** Says what needs a version, in words for people; null: nothing does. */
export type VersionHolder = (organisation: string, name: string, sha256: string) => Promise<string | null>

/** The packages of organisations, whose ids are the first argument of all that follows. */
export interface Packages {
  /**
   * Checks a bundle as a host does and keeps it.
   * @param expectedName the name in the address; null: the one in the bundle's manifest
   * @throws ERR_NAME_DIFFERS, ERR_BUNDLE_TOO_LARGE, ERR_BUNDLE_REFUSED with every fault, ERR_MEMORY_FULL, ERR_SANDBOX_BUSY
   */
  upload(organisation: string, packed: Uint8Array, expectedName: string | null, by: string): Promise<UploadedPackage>
  /** By name. */
  list(organisation: string): Promise<readonly PackageSummary[]>
  find(organisation: string, name: string): Promise<Package | null>
  /** @throws ERR_NOT_FOUND */
  need(organisation: string, name: string): Promise<Package>
  findVersion(organisation: string, name: string, sha256: string): Promise<PackageVersion | null>
  /** The bytes as they were uploaded; null when there is no such version. */
  bundle(organisation: string, name: string, sha256: string): Promise<Uint8Array | null>
  stamp(organisation: string, name: string, sha256: string, stamp: BuildStamp): Promise<void>
  /** Asks all that were given to `heldBy`; null: nothing needs the version. */
  isInUse(organisation: string, name: string, sha256: string): Promise<string | null>
  /** What else needs versions, such as environments that are to run them. */
  heldBy(holder: VersionHolder): void
  /** With its last version the package goes. @throws ERR_VERSION_NOT_FOUND, ERR_VERSION_IN_USE */
  removeVersion(organisation: string, name: string, sha256: string): Promise<void>
}

/** Chosen here: a page and an answer stay readable; older versions are found by their SHA-256. */
export const MOST_LISTED = 500

const COLUMNS = ['sha256', 'version', 'title', 'authenticator', 'bytes', 'stamp', 'uploaded_at', 'uploaded_by'] as const

/** @param now the clock, in epoch milliseconds */
export function createPackages(
  db: CenterDatabase,
  checks: Pick<BundleChecks, 'check'>,
  storage: Storage,
  now: () => number = Date.now,
): Packages {
  const holders: VersionHolder[] = []
  const oneAtATime = createQueue()

  const versions = (organisation: string, name: string) =>
    db.selectFrom('package_versions').where('organisation', '=', organisation).where('package', '=', name.slice(0, 100))
  const version = (organisation: string, name: string, sha256: string) =>
    versions(organisation, name).where('sha256', '=', sha256.slice(0, 100))

  async function findVersion(organisation: string, name: string, sha256: string): Promise<PackageVersion | null> {
    const row = await version(organisation, name, sha256).select(COLUMNS).executeTakeFirst()
    return row === undefined ? null : versionOf(row)
  }

  async function find(organisation: string, name: string): Promise<Package | null> {
    const query = versions(organisation, name).select(COLUMNS).orderBy('uploaded_at', 'desc').orderBy('sha256')
    const rows = await firstRows(db, query, MOST_LISTED).execute()
    return rows.length === 0 ? null : { name: name.slice(0, 100), versions: rows.map(versionOf) }
  }

  async function isInUse(organisation: string, name: string, sha256: string): Promise<string | null> {
    for (const holder of holders) {
      const use = await holder(organisation, name, sha256)
      if (use !== null) return use
    }
    return null
  }

  async function add(organisation: string, { manifest, sha256, bytes }: Bundle, packed: Uint8Array, by: string) {
    const { name, version, title, authenticator } = manifest
    if ((await findVersion(organisation, name, sha256)) === null) await storage.needRoom(organisation, bytes)
    return db.transaction().execute(async (transaction) => {
      await insertOnce(transaction, 'packages', { organisation, name, created_at: now() })
      return insertOnce(transaction, 'package_versions', {
        organisation,
        package: name,
        sha256,
        version,
        title,
        authenticator,
        bundle: Buffer.from(packed),
        bytes,
        stamp: null,
        uploaded_at: now(),
        uploaded_by: by,
      })
    })
  }

  async function removeVersion(organisation: string, name: string, sha256: string): Promise<void> {
    if ((await findVersion(organisation, name, sha256)) === null) throw versionNotFound(name, sha256)
    const use = await isInUse(organisation, name, sha256)
    if (use !== null) {
      throw new PlatformError('ERR_VERSION_IN_USE', `${sha256} of "${name}" cannot be deleted: ${use}.`)
    }
    await db.transaction().execute(async (transaction) => {
      await transaction
        .deleteFrom('package_versions')
        .where('organisation', '=', organisation)
        .where('package', '=', name)
        .where('sha256', '=', sha256)
        .execute()
      await transaction
        .deleteFrom('packages')
        .where('organisation', '=', organisation)
        .where('name', '=', name)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('package_versions')
                .select('sha256')
                .where('organisation', '=', organisation)
                .where('package', '=', name),
            ),
          ),
        )
        .execute()
    })
  }

  /** One change of a package at a time. */
  const inTurn = <T>(organisation: string, name: string, work: () => Promise<T>) =>
    oneAtATime(JSON.stringify([organisation, name]), work)

  return {
    find,
    findVersion,
    isInUse,
    async upload(organisation, packed, expectedName, by) {
      const sha256 = hash('sha256', packed, 'hex')
      const known = expectedName === null ? null : await findVersion(organisation, expectedName, sha256)
      if (known !== null && expectedName !== null) {
        return { name: expectedName, version: known.version, sha256, warnings: [], isNew: false }
      }
      const { bundle, faults, warnings } = await checks.check(packed)
      if (bundle === null) throw refused(faults, warnings)
      const { name, version } = bundle.manifest
      if (expectedName !== null && name !== expectedName) throw nameDiffers(name, expectedName)
      const isNew = await inTurn(organisation, name, () => add(organisation, bundle, packed, by))
      return { name, version, sha256, warnings, isNew }
    },
    async list(organisation) {
      // Each package with its newest version: those of all that were uploaded at the same time are few.
      const rows = await db
        .selectFrom('packages')
        .leftJoin('package_versions', (join) =>
          join
            .onRef('package_versions.organisation', '=', 'packages.organisation')
            .onRef('package_versions.package', '=', 'packages.name')
            .on(({ not, exists, selectFrom }) =>
              not(
                exists(
                  selectFrom('package_versions as later')
                    .select('later.sha256')
                    .whereRef('later.organisation', '=', 'package_versions.organisation')
                    .whereRef('later.package', '=', 'package_versions.package')
                    .whereRef('later.uploaded_at', '>', 'package_versions.uploaded_at'),
                ),
              ),
            ),
        )
        .select('packages.name')
        .select(COLUMNS.map((column) => `package_versions.${column}` as const))
        .where('packages.organisation', '=', organisation)
        .orderBy('packages.name')
        .execute()
      const summaries = new Map<string, PackageSummary>()
      for (const { name, ...row } of rows) {
        if (!summaries.has(name))
          summaries.set(name, { name, newest: row.sha256 === null ? null : versionOf(row as Row) })
      }
      return [...summaries.values()]
    },
    async need(organisation, name) {
      const found = await find(organisation, name)
      if (found !== null) return found
      throw new PlatformError('ERR_NOT_FOUND', `There is no package "${name.slice(0, 100)}".`)
    },
    async bundle(organisation, name, sha256) {
      const row = await version(organisation, name, sha256).select('bundle').executeTakeFirst()
      return row === undefined ? null : new Uint8Array(row.bundle)
    },
    async stamp(organisation, name, sha256, stamp) {
      await db
        .updateTable('package_versions')
        .set({ stamp: JSON.stringify(stamp) })
        .where('organisation', '=', organisation)
        .where('package', '=', name)
        .where('sha256', '=', sha256)
        .execute()
    },
    heldBy: (holder) => void holders.push(holder),
    removeVersion: (organisation, name, sha256) =>
      inTurn(organisation, name, () => removeVersion(organisation, name, sha256)),
  }
}

/** The name of a package in an address. @throws ERR_NOT_FOUND for what can be none */
export function packageNameOf(params: { readonly name?: string }): string {
  const name = SolutionName.safeParse(params.name)
  if (name.success) return name.data
  throw new PlatformError('ERR_NOT_FOUND', `There is no package "${String(params.name).slice(0, 100)}".`)
}

type Row = {
  sha256: string
  version: string
  title: string
  authenticator: string
  bytes: number
  stamp: string | null
  uploaded_at: number
  uploaded_by: string
}

function versionOf({ stamp, uploaded_at, uploaded_by, ...row }: Row): PackageVersion {
  return { ...row, stamp: readStamp(stamp), uploadedAt: uploaded_at, uploadedBy: uploaded_by }
}

function nameDiffers(name: string, expected: string): PlatformError {
  return new PlatformError(
    'ERR_NAME_DIFFERS',
    `The bundle is "${name}" by its manifest: upload it as "${name}", or change "name" in solution.json to "${expected}".`,
  )
}

function refused(faults: readonly Fault[], warnings: readonly Warning[]): PlatformError {
  const isTooLarge = faults.every(({ code }) => code === 'too_large' || code === 'too_many_files')
  const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`
  return new PlatformError(
    isTooLarge ? 'ERR_BUNDLE_TOO_LARGE' : 'ERR_BUNDLE_REFUSED',
    `The bundle was refused for ${count}; nothing was kept of it.`,
    { faults, warnings },
  )
}
