import type { DeleteResult } from 'kysely'

/** Runs a deletion. @returns whether there was anything to delete; of two at the same time one gets true for a row */
export async function deletedAny(query: { executeTakeFirst(): Promise<DeleteResult> }): Promise<boolean> {
  return (await query.executeTakeFirst()).numDeletedRows > 0n
}
