import { PlatformError } from '../../runtime/errors.ts'
import type { CenterDatabase } from '../database/tables.ts'

/** What bundles and artifacts of one organisation may take in the database, so that none leaves the others without. */
export interface Storage {
  /**
   * Asked before something is kept. What comes at the same time is not seen by the other: the bound can be passed by as much.
   * @throws ERR_STORAGE_FULL
   */
  needRoom(organisation: string, bytes: number): Promise<void>
}

/** @param bound `ORGANISATION_STORAGE`, in bytes */
export function createStorage(db: CenterDatabase, bound: number): Storage {
  async function sumOf(table: 'package_versions' | 'artifacts', organisation: string): Promise<number> {
    const { sum } = await db
      .selectFrom(table)
      .select(({ fn }) => fn.sum('bytes').as('sum'))
      .where('organisation', '=', organisation)
      .executeTakeFirstOrThrow()
    return Number(sum ?? 0)
  }

  return {
    async needRoom(organisation, bytes) {
      const used = (await sumOf('package_versions', organisation)) + (await sumOf('artifacts', organisation))
      if (used + bytes <= bound) return
      throw new PlatformError(
        'ERR_STORAGE_FULL',
        `Packages and artifacts of the organisation take ${used} bytes of ${bound}, and ${bytes} more do not fit. ` +
          'Delete artifacts or versions that nobody needs; the operator of the control center can raise ORGANISATION_STORAGE.',
      )
    },
  }
}
