import type { Kysely } from 'kysely'
import type { Tables } from '../../base/database/tables.ts'

/**
 * The tables of the control center's database: the platform's tables, and those that each area declares in its
 * `tables.ts`. Times are epoch milliseconds; JSON is stored as text.
 */
export interface CenterTables extends Tables {}

export type CenterDatabase = Kysely<CenterTables>
