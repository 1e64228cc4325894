import { createBriefCache } from '../../base/database/brief-cache.ts'
import type { Database } from '../../base/database/open.ts'
import { put } from '../../base/database/portable.ts'
import type { PartialOAuthForm } from '../../runtime/bundle/manifest-schema.ts'
import type { z } from '../../runtime/zod.ts'

/** Settings of a sign-in by their names in design section 8, as the operator wrote them. */
export type WrittenOAuthSettings = z.infer<typeof PartialOAuthForm>

/** The operator's OAuth settings of solutions, which win over those in their manifests. */
export interface OAuthSettingsStore {
  /** Held for at most 1 s; a change on this host counts at once. @returns null where the operator set none */
  get(solution: string): Promise<WrittenOAuthSettings | null>
  put(solution: string, settings: WrittenOAuthSettings): Promise<void>
  /**
   * Those that count: the operator's, else those of the control center. Chosen here: where the operator set any by hand, the
   * control center's do not count at all. The Satellite is the operator's, and who holds the control center must not send
   * users to another sign-in over the operator's head; a mixture of both would be of two providers.
   */
  inForce(solution: string): Promise<WrittenOAuthSettings | null>
  /** @returns false when there were none */
  remove(solution: string): Promise<boolean>
}

/**
 * @param now the clock, in epoch milliseconds
 * @param ofCloud the control center's, of a solution
 */
export function createOAuthSettings(
  db: Database,
  now: () => number = Date.now,
  ofCloud: OAuthSettingsStore['get'] = async () => null,
): OAuthSettingsStore {
  const cache = createBriefCache(async (solution) => {
    const row = await db
      .selectFrom('oauth_settings')
      .select('value')
      .where('solution', '=', solution)
      .executeTakeFirst()
    return row === undefined ? null : (JSON.parse(row.value) as WrittenOAuthSettings)
  }, now)

  return {
    get: cache.get,
    inForce: async (solution) => (await cache.get(solution)) ?? (await ofCloud(solution)),
    async put(solution, settings) {
      await put(db, 'oauth_settings', ['solution'], { solution, value: JSON.stringify(settings), updated_at: now() })
      cache.forget(solution)
    },
    async remove(solution) {
      const { numDeletedRows } = await db
        .deleteFrom('oauth_settings')
        .where('solution', '=', solution)
        .executeTakeFirst()
      cache.forget(solution)
      return numDeletedRows > 0n
    },
  }
}
