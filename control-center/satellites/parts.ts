import type { Activity } from '../access/activity.ts'
import type { EnvironmentTokens } from '../environments/environment-tokens.ts'
import type { Environments } from '../environments/environments.ts'

export type SatelliteParts = {
  readonly environments: Environments
  readonly environmentTokens: EnvironmentTokens
  readonly activity: Activity
  readonly version: string
}
