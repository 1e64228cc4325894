import { sql } from 'kysely'
import type { LogSearch } from './log-search.ts'
import type { WordQuery } from './words.ts'

/**
 * PostgreSQL full-text search with a GIN index of words. @see
 * https://www.postgresql.org/docs/current/datatype-textsearch.html
 */
export const alphaSearch: LogSearch = {
  async add(db, lines) {
    const rows = JSON.stringify(lines.map(({ id, words }) => [id, words]))
    await sql`insert into log_words (id, words)
      select (value ->> 0)::bigint, array_to_tsvector(string_to_array(value ->> 1, ' '))
      from json_array_elements(${rows}::json) as rows(value)`.execute(db)
  },
  async remove(db, ids) {
    await sql`delete from log_words where id = any(${ids}::bigint[])`.execute(db)
  },
  id: sql<number>`log_words.id`,
  has: (query) => sql<boolean>`log_words.words @@ ${textOf(query)}::tsquery`,
  // `is true` keeps the planner from using the index. The index supports only a bare `@@`.
  hasByLine: (query) => sql<boolean>`(log_words.words @@ ${textOf(query)}::tsquery) is true`,
}

function textOf(query: WordQuery): string {
  // Words contain only letters, digits and `_`, so they need no escaping inside quotes.
  const groups = query.map((group) => group.map(({ word, isStart }) => `'${word}'${isStart ? ':*' : ''}`).join(' | '))
  return groups.map((group) => `(${group})`).join(' & ')
}
