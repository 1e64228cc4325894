import { put } from '../../base/database/portable.ts'
import type { WrittenOAuthSettings } from '../../base/oauth/page-fields.ts'
import { createBriefCache } from '../database/brief-cache.ts'
import type { HostDatabase } from '../database/tables.ts'

export type { WrittenOAuthSettings } from '../../base/oauth/page-fields.ts'

/** The operator's OAuth settings for solutions, which override those in the manifests. */
export interface OAuthSettingsStore {
  /**
   * Returns the operator's settings. They are cached for at most 1 s; changes on this host apply immediately.
   * @returns null if the operator has set none
   */
  get(solution: string): Promise<WrittenOAuthSettings | null>
  put(solution: string, settings: WrittenOAuthSettings): Promise<void>
  /**
   * Returns the operator's settings or, if there are none, the control center's. Chosen here: if the operator has set
   * any, all of the control center's are ignored. The operator owns the Satellite, so the control center must not
   * redirect its users to another sign-in. Also, merged settings could combine two providers.
   */
  inForce(solution: string): Promise<WrittenOAuthSettings | null>
  /** @returns false if there were no settings */
  remove(solution: string): Promise<boolean>
}

/**
 * @param now returns the current time in epoch milliseconds
 * @param ofCloud reads a solution's settings from the control center
 */
export function createOAuthSettings(
  db: HostDatabase,
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
