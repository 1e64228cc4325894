import type { WrittenOAuthSettings } from '../../oauth/oauth-settings.ts'
import type { KeptStates } from './kept-state.ts'

/** The settings from the control center. They are the same on every node. A host without a control center has none. */
export interface ManagedSettings {
  /** The solution that `GET /` shows; null for the list of solutions. */
  defaultSolution(): Promise<string | null>
  /** Whether the control center decides which version of the solution is active. */
  manages(solution: string): Promise<boolean>
  /** @returns the solution's OAuth settings; null if the control center sets none */
  oauthOf(solution: string): Promise<WrittenOAuthSettings | null>
}

/** @param own the host's own `DEFAULT_SOLUTION`, used unless the control center sets one */
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
    async manages(solution) {
      return Object.hasOwn((await kept?.getBriefly())?.state.solutions ?? {}, solution)
    },
    async oauthOf(solution) {
      const { oauth = {} } = await settings()
      return Object.hasOwn(oauth, solution) ? (oauth[solution] as WrittenOAuthSettings) : null
    },
  }
}
