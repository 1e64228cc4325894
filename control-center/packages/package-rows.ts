import { firstRows, insertOnce } from '../../base/database/portable.ts'
import type { Bundle } from '../../runtime/bundle/bundle.ts'
import type { CenterDatabase } from '../database/tables.ts'
import { type BuildStamp, readStamp } from './build-stamp.ts'
import { lockPackage } from './version-lock.ts'

/** A version of a package, without its bytes. Times are epoch milliseconds. */
export type PackageVersion = {
  readonly sha256: string
  readonly version: string
  readonly title: string
  readonly authenticator: string
  readonly bytes: number
  /** Build information from the version's last pipeline run, or null. */
  readonly stamp: BuildStamp | null
  readonly uploadedAt: number
  /** The actor, as in the audit log: `user:{name}` or `token:{id}`. */
  readonly uploadedBy: string
}

/** A solution's package. `newest` is the version that was uploaded last; null if no version is left. */
export type PackageSummary = { readonly name: string; readonly newest: PackageVersion | null }

export type Package = {
  readonly name: string
  /** Newest first, at most `MOST_LISTED`. */
  readonly versions: readonly PackageVersion[]
}

/** Stored packages and versions. The first argument of all methods is the organisation's id. */
export interface PackageRows {
  /** @returns the organisation's packages, sorted by name */
  list(organisation: string): Promise<readonly PackageSummary[]>
  find(organisation: string, name: string): Promise<Package | null>
  findVersion(organisation: string, name: string, sha256: string): Promise<PackageVersion | null>
  /** The bytes as uploaded; null if there is no such version. */
  bundle(organisation: string, name: string, sha256: string): Promise<Uint8Array | null>
  stamp(organisation: string, name: string, sha256: string, stamp: BuildStamp): Promise<void>
  /** @returns false if the version already exists */
  add(organisation: string, bundle: Bundle, packed: Uint8Array, by: string): Promise<boolean>
  /**
   * Deletes a version. Also deletes the package if this was its last version.
   * @param check called while the package is locked, so that nothing else can start to use the version; if it throws,
   *   the version is kept
   * @returns false if there is no such version
   */
  remove(
    organisation: string,
    name: string,
    sha256: string,
    check: (transaction: CenterDatabase) => Promise<void>,
  ): Promise<boolean>
}

/** Chosen here: 500 versions keep pages and responses readable. Older versions can be found by their SHA-256. */
export const MOST_LISTED = 500

const COLUMNS = ['sha256', 'version', 'title', 'authenticator', 'bytes', 'stamp', 'uploaded_at', 'uploaded_by'] as const

/** @param now returns the current time in epoch milliseconds */
export function createPackageRows(db: CenterDatabase, now: () => number = Date.now): PackageRows {
  const versions = (organisation: string, name: string) =>
    db.selectFrom('package_versions').where('organisation', '=', organisation).where('package', '=', name.slice(0, 100))
  const version = (organisation: string, name: string, sha256: string) =>
    versions(organisation, name).where('sha256', '=', sha256.slice(0, 100))

  return {
    async list(organisation) {
      // Joins each package with its newest version. If several were uploaded in the same millisecond, all of them are
      // joined.
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
    async find(organisation, name) {
      const query = versions(organisation, name).select(COLUMNS).orderBy('uploaded_at', 'desc').orderBy('sha256')
      const rows = await firstRows(db, query, MOST_LISTED).execute()
      return rows.length === 0 ? null : { name: name.slice(0, 100), versions: rows.map(versionOf) }
    },
    async findVersion(organisation, name, sha256) {
      const row = await version(organisation, name, sha256).select(COLUMNS).executeTakeFirst()
      return row === undefined ? null : versionOf(row)
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
    add: (organisation, { manifest, sha256, bytes }, packed, by) =>
      db.transaction().execute(async (transaction) => {
        const { name, version, title, authenticator } = manifest
        const row = { organisation, name, created_at: now() }
        // A concurrent delete of the last version may remove the package. If so, create it again.
        while (!(await insertOnce(transaction, 'packages', row))) {
          if (await lockPackage(transaction, organisation, name)) break
        }
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
      }),
    remove: (organisation, name, sha256, check) =>
      db.transaction().execute(async (transaction) => {
        if (!(await lockPackage(transaction, organisation, name))) return false
        const { numDeletedRows } = await transaction
          .deleteFrom('package_versions')
          .where('organisation', '=', organisation)
          .where('package', '=', name)
          .where('sha256', '=', sha256)
          .executeTakeFirst()
        if (numDeletedRows === 0n) return false
        await check(transaction)
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
        return true
      }),
  }
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
