import type { RawBuilder } from 'kysely'
import type { TelemetryDatabase } from '../database/tables.ts'
import type { WordQuery } from './words.ts'

/** A line's words, separated by spaces. */
export type LineWords = { readonly id: number; readonly words: string }

/** Finds log lines by their words; one implementation per database kind. */
export interface LogSearch {
  add(db: TelemetryDatabase, lines: readonly LineWords[]): Promise<void>
  remove(db: TelemetryDatabase, ids: readonly number[]): Promise<void>
  /** The line id column of the table `log_words`. */
  readonly id: RawBuilder<number>
  has(query: WordQuery): RawBuilder<boolean>
  /**
   * The same condition, evaluated line by line without the word index; null if that index returns the newest lines
   * first.
   */
  readonly hasByLine: ((query: WordQuery) => RawBuilder<boolean>) | null
}
