import type { Kysely } from 'kysely'
import type { Tables } from '../../base/database/tables.ts'

/**
 * The tables of the control center's database. Each area declares its tables in its `tables.ts`. Of the platform's own
 * tables, the control center uses users, sessions and throttles. Times are epoch milliseconds; JSON is stored as text.
 */
export interface CenterTables extends Tables {}

export type CenterDatabase = Kysely<CenterTables>
