import type { Activity } from '../access/activity.ts'
import type { EnvironmentTokens } from '../environments/environment-tokens.ts'
import type { Environments } from '../environments/environments.ts'
import type { CloudLoginParts } from '../solution-users/satellite-api.ts'
import type { DesiredRouteParts } from './desired-routes.ts'

export type SatelliteParts = DesiredRouteParts &
  CloudLoginParts & {
    readonly environments: Environments
    readonly environmentTokens: EnvironmentTokens
    readonly activity: Activity
    readonly version: string
  }
