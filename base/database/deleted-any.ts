import type { DeleteResult } from 'kysely'

/**
 * Runs a deletion.
 * @returns whether any row was deleted. If two callers delete a row at the same time, exactly one gets true.
 */
export async function deletedAny(query: { executeTakeFirst(): Promise<DeleteResult> }): Promise<boolean> {
  return (await query.executeTakeFirst()).numDeletedRows > 0n
}
