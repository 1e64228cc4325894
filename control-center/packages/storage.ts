import { PlatformError } from '../../runtime/errors.ts'
import type { CenterDatabase } from '../database/tables.ts'

/**
 * Limits the database space for bundles and artifacts per organisation, so that one organisation can't use up the space
 * of others.
 */
export interface Storage {
  /**
   * Checks that the organisation may store `bytes` more bytes. Call this before storing something. Unfinished uploads
   * are not counted, so concurrent uploads can exceed the limit by up to their total size.
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
        `There is no space for ${bytes} more bytes: the organisation’s packages and artifacts already use ${used} of ${bound} bytes. ` +
          'Delete artifacts or versions, or ask the operator of the control center to raise ORGANISATION_STORAGE.',
      )
    },
  }
}
