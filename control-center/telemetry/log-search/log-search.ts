import type { RawBuilder } from 'kysely'
import type { TelemetryDatabase } from '../database/tables.ts'
import type { WordQuery } from './words.ts'

/** The words of a line, with a space between them. */
export type LineWords = { readonly id: number; readonly words: string }

/** Finds lines of the log by their words: one for each kind of database. */
export interface LogSearch {
  add(db: TelemetryDatabase, lines: readonly LineWords[]): Promise<void>
  remove(db: TelemetryDatabase, ids: readonly number[]): Promise<void>
  /** The table `log_words`, its column that is a line's id, and the condition that a line has the words. */
  readonly id: RawBuilder<number>
  has(query: WordQuery): RawBuilder<boolean>
  /** The same, looked at line by line without the index of words; null where that index gives the newest lines first. */
  readonly hasByLine: ((query: WordQuery) => RawBuilder<boolean>) | null
}
