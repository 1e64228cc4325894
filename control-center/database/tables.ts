import type { Kysely } from 'kysely'
import type { Tables } from '../../host/database/tables.ts'
import type { AccessTables } from '../access/tables.ts'
import type { EnvironmentTables } from '../environments/tables.ts'
import type { OrganisationTables } from '../organisations/tables.ts'

/**
 * The tables of the control center's database: the platform's own, of which it uses those of users, sessions and throttles,
 * and those of its areas. Times are epoch milliseconds; JSON is kept as text.
 */
export type CenterTables = Tables & OrganisationTables & AccessTables & EnvironmentTables

export type CenterDatabase = Kysely<CenterTables>
