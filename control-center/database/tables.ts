import type { Kysely } from 'kysely'
import type { Tables } from '../../base/database/tables.ts'

/**
 * The tables of the control center's database: the platform's own tables, of which it uses users, sessions and
 * throttles, and the tables that each area declares in its `tables.ts`. Times are epoch milliseconds; JSON is stored as
 * text.
 */
export interface CenterTables extends Tables {}

export type CenterDatabase = Kysely<CenterTables>
