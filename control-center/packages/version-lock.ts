import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import type { CenterDatabase } from '../database/tables.ts'

/**
 * Makes others wait that add or delete versions of the package, or come to need one, until the transaction has ended.
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
 * Keeps a version from being deleted until the transaction has ended, which writes down what needs it: whoever deletes it
 * meanwhile waits, and then sees that (`VersionHolder`).
 * @throws ERR_VERSION_NOT_FOUND when it is gone
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
