import { insertOnce } from '../../base/database/portable.ts'
import type { CenterDatabase } from '../../control-center/database/tables.ts'

/** Stores a version of a package in the database. Its bundle is only a placeholder. */
export async function keepTestVersion(db: CenterDatabase, organisation: string, name: string, sha256: string) {
  await insertOnce(db, 'packages', { organisation, name, created_at: 1 })
  await insertOnce(db, 'package_versions', {
    ...{ organisation, package: name, sha256, version: '1.0.0', title: name, authenticator: '', stamp: null },
    ...{ bundle: Buffer.from('a bundle'), bytes: 8, uploaded_at: 1, uploaded_by: 'test' },
  })
}
