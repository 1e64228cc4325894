import type { WrittenOAuthSettings } from '../../oauth/oauth-settings.ts'
import type { KeptStates } from './kept-state.ts'

/** The settings that the control center made, as every node has them; nothing on a host without one. */
export interface ManagedSettings {
  /** Of `GET /`; null: the list of solutions. */
  defaultSolution(): Promise<string | null>
  /** Null: none. */
  oauthOf(solution: string): Promise<WrittenOAuthSettings | null>
}

/** @param own `DEFAULT_SOLUTION`, which counts while the control center says nothing of it */
export function createManagedSettings(
  kept: Pick<KeptStates, 'getBriefly'> | null,
  own: string | null,
): ManagedSettings {
  const settings = async () => (await kept?.getBriefly())?.settings ?? {}
  return {
    async defaultSolution() {
      const { defaultSolution } = await settings()
      return defaultSolution === undefined ? own : defaultSolution
    },
    async oauthOf(solution) {
      const { oauth = {} } = await settings()
      return Object.hasOwn(oauth, solution) ? (oauth[solution] as WrittenOAuthSettings) : null
    },
  }
}
