import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import type { CenterDatabase } from '../database/tables.ts'

/**
 * Locks the package until the transaction ends, so that others can't add, delete or start to need one of its versions.
 * @returns false when there is no such package
 */
export async function lockPackage(transaction: CenterDatabase, organisation: string, name: string): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable('packages')
    .set((ref) => ({ created_at: ref.ref('created_at') }))
    .where('organisation', '=', organisation)
    .where('name', '=', name)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Protects a version from deletion until the transaction, which stores what needs the version, has ended. A concurrent
 * delete waits, and then finds the new entry (`VersionHolder`).
 * @throws ERR_VERSION_NOT_FOUND when it no longer exists
 */
export async function lockVersion(
  transaction: CenterDatabase,
  organisation: string,
  name: string,
  sha256: string,
): Promise<void> {
  await lockPackage(transaction, organisation, name)
  const found = await transaction
    .selectFrom('package_versions')
    .select('sha256')
    .where('organisation', '=', organisation)
    .where('package', '=', name)
    .where('sha256', '=', sha256)
    .executeTakeFirst()
  if (found === undefined) throw versionNotFound(name, sha256)
}
