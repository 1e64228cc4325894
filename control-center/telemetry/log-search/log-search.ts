import type { RawBuilder } from 'kysely'
import type { TelemetryDatabase } from '../database/tables.ts'
import type { WordQuery } from './words.ts'

/** The line's words, separated by spaces. */
export type LineWords = { readonly id: number; readonly words: string }

/** Finds log lines by their words. There is one implementation per kind of database. */
export interface LogSearch {
  add(db: TelemetryDatabase, lines: readonly LineWords[]): Promise<void>
  remove(db: TelemetryDatabase, ids: readonly number[]): Promise<void>
  /** The column of the table `log_words` that contains the line's id. */
  readonly id: RawBuilder<number>
  has(query: WordQuery): RawBuilder<boolean>
  /**
   * The same condition as `has`, but evaluated line by line without the word index. Null if the word index returns the
   * newest lines first, because then this isn't needed.
   */
  readonly hasByLine: ((query: WordQuery) => RawBuilder<boolean>) | null
}
