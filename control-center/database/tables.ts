import type { Kysely } from 'kysely'
import type { Tables } from '../../base/database/tables.ts'
import type { AccessTables } from '../access/tables.ts'
import type { AccountTables } from '../accounts/tables.ts'
import type { DesiredTables } from '../desired/tables.ts'
import type { EnvironmentTables } from '../environments/tables.ts'
import type { LoginPageTables } from '../login-pages/tables.ts'
import type { MailTables } from '../mail/tables.ts'
import type { OrganisationTables } from '../organisations/tables.ts'
import type { PackageTables } from '../packages/tables.ts'
import type { PipelineTables } from '../pipelines/tables.ts'
import type { RegistryTables } from '../registries/tables.ts'
import type { RolloutTables } from '../rollouts/tables.ts'
import type { SatelliteTables } from '../satellites/tables.ts'
import type { SolutionUserTables } from '../solution-users/tables.ts'

/**
 * The tables of the control center's database: the platform's own, of which it uses those of users, sessions and throttles,
 * and those of its areas. Times are epoch milliseconds; JSON is kept as text.
 */
export type CenterTables = Tables &
  OrganisationTables &
  AccessTables &
  AccountTables &
  EnvironmentTables &
  PackageTables &
  PipelineTables &
  RegistryTables &
  LoginPageTables &
  MailTables &
  SolutionUserTables &
  DesiredTables &
  SatelliteTables &
  RolloutTables

export type CenterDatabase = Kysely<CenterTables>
