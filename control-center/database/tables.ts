import type { Kysely } from 'kysely'
import type { Tables } from '../../base/database/tables.ts'

/**
 * The tables of the control center's database: the platform's own, of which it uses those of users, sessions and throttles,
 * and those of its areas, which each area's `tables.ts` adds. Times are epoch milliseconds; JSON is kept as text.
 */
export interface CenterTables extends Tables {}

export type CenterDatabase = Kysely<CenterTables>
