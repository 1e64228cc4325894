import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import type { CenterDatabase } from '../database/tables.ts'

/**
 * Locks the package until the transaction ends. Until then, other transactions can't add, delete or start to use its
 * versions.
 * @returns false if there is no such package
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
 * Protects a version from deletion until the transaction ends. In that transaction, the caller stores a new use of the
 * version. A concurrent delete waits, and then finds the stored use (`VersionHolder`).
 * @throws ERR_VERSION_NOT_FOUND if the version no longer exists
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
