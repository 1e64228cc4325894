import { sql } from 'kysely'
import type { LogSearch } from './log-search.ts'

/** SQLite's full-text search (FTS5). @see https://www.sqlite.org/fts5.html#full_text_query_syntax */
export const embeddedSearch: LogSearch = {
  async add(db, lines) {
    const rows = JSON.stringify(lines.map(({ id, words }) => [id, words]))
    await sql`insert into log_words (rowid, words) select value ->> 0, value ->> 1 from json_each(${rows})`.execute(db)
  },
  async remove(db, ids) {
    await sql`delete from log_words where rowid in (select value from json_each(${JSON.stringify(ids)}))`.execute(db)
  },
  id: sql<number>`log_words.rowid`,
  has(query) {
    // Words contain only letters, digits and `_`, so they need no escaping inside quotes.
    const groups = query.map((group) => group.map(({ word, isStart }) => `"${word}"${isStart ? '*' : ''}`).join(' OR '))
    return sql<boolean>`log_words match ${groups.map((group) => `(${group})`).join(' AND ')}`
  },
  hasByLine: null,
}
