import type { Kysely } from 'kysely'
import type { Tables } from '../../base/database/tables.ts'

/**
 * The tables of the control center's database, in addition to the platform's tables. Each area declares its tables in
 * its `tables.ts`. Times are epoch milliseconds; JSON is stored as text.
 */
export interface CenterTables extends Tables {}

export type CenterDatabase = Kysely<CenterTables>
