import { type RawBuilder, sql } from 'kysely'
import { insertMany, isOneOf } from './database/many-rows.ts'
import type { TelemetryDatabase, TelemetryTables } from './database/tables.ts'
import type { LogSearch } from './log-search/log-search.ts'
import { logSearchOf } from './log-search/search-of.ts'
import { queryOf, type Scope, scopeQuery, scopeWords, wordsOf } from './log-search/words.ts'
import { LEVELS, type Level, type LogLine, levelName } from './otlp/read-logs.ts'
import type { Attributes } from './otlp/values.ts'

/** A stored log line. `environment` is the environment's id. */
export type StoredLine = Omit<LogLine, 'level'> & {
  readonly id: number
  readonly environment: string
  readonly level: Level
}

export type LogFilter = {
  /** Environment ids; lines of other environments are excluded. */
  readonly environments: readonly string[]
  /** The lowest level to include. */
  readonly level?: Level | undefined
  readonly solution?: string | undefined
  /** The line must contain all of these words. A word that ends in `*` matches as a prefix. */
  readonly words?: string | undefined
  /** The time range in epoch ms; `to` is exclusive. */
  readonly from?: number | undefined
  readonly to?: number | undefined
}

export type LogPlace = {
  readonly limit: number
  /** The id of a line. Only lines before it, or only those after it, are returned. */
  readonly before?: number | undefined
  readonly after?: number | undefined
}

/** The errors that were raised at one line of a script. `lastAt` and `lastMessage` are from the newest error. */
export type ErrorPlace = {
  readonly environment: string
  readonly solution: string
  readonly file: string
  readonly line: number
  readonly count: number
  readonly lastAt: number
  readonly lastMessage: string
}

/** Log lines. Their ids are in storage order: a line becomes visible before any line with a higher id. */
export interface LogStore {
  /** Stores lines. Must be called within a transaction. */
  store(db: TelemetryDatabase, environment: string, lines: readonly SearchableLine[]): Promise<void>
  /** @returns the lines that match, newest first */
  read(filter: LogFilter, place: LogPlace): Promise<readonly StoredLine[]>
  /** @returns null if none of these environments has the line */
  find(environments: readonly string[], id: number): Promise<StoredLine | null>
  /** The highest line id so far; 0 if there are no lines. */
  last(): Promise<number>
  /** The script lines with the most errors since `from` (epoch ms). */
  errors(
    filter: Pick<LogFilter, 'environments' | 'solution'>,
    from: number,
    limit: number,
  ): Promise<readonly ErrorPlace[]>
  /** The number of errors in scripts since `from` (epoch ms). */
  countErrors(filter: Pick<LogFilter, 'environments'>, from: number): Promise<number>
}

/**
 * How many of the newest lines to scan one by one, in two stages, before using the word index. Only for a word index
 * that can't return lines in the order of their ids (PostgreSQL).
 */
const NEWEST = [5000, 50_000]
/** The storage that a line needs in addition to its texts, in bytes. */
const OVERHEAD = 200

export function createLogStore(reading: TelemetryDatabase, depths: readonly number[] = NEWEST): LogStore {
  const search = logSearchOf(reading)

  /** Selects line ids of one environment. The query reads only the index. */
  async function idsOf(filter: LogFilter, environment: string, place: LogPlace): Promise<readonly number[]> {
    const { rows } = await sql<{ id: number }>`select id from log_lines
      where environment = ${environment} ${conditionsOf(filter, place, sql.ref('log_lines.id'))}
      order by id desc limit ${place.limit}`.execute(reading)
    return rows.map(({ id }) => id)
  }

  async function readByWords(filter: LogFilter, place: LogPlace, words: string): Promise<readonly Row[]> {
    const query = queryOf(words)
    if (query === null) return []
    const level = filter.level === undefined ? undefined : LEVELS[filter.level]
    const scope: Scope = { environments: filter.environments, level, solution: filter.solution }
    const all = [...query, ...scopeQuery(scope)]
    if (search.hasByLine === null) return select(search.has(all), filter, place)
    // An unordered word index must find all lines that contain a word before it can select the newest. For a frequent
    // word, scanning the newest lines one by one is faster.
    const { before: until = (await lastId()) + 1, after = 0, limit } = place
    const found: Row[] = []
    let before = until
    for (const depth of depths) {
      const from = Math.max(after, until - depth)
      const part = { before, after: from, limit: limit - found.length }
      found.push(...(await select(search.hasByLine(all), filter, part)))
      if (found.length === limit || from === after) return found
      before = from + 1
    }
    // `+ 0` turns the id into an expression, so that the planner doesn't scan the id index. For a rare word, such a
    // scan would read all lines.
    const byWords = sql<number>`${search.id} + 0`
    found.push(...(await select(search.has(all), filter, { before, after, limit: limit - found.length }, byWords)))
    return found
  }

  async function select(
    has: RawBuilder<boolean>,
    filter: LogFilter,
    place: LogPlace,
    order: RawBuilder<number> = search.id,
  ): Promise<readonly Row[]> {
    const { rows } = await sql<Row>`select log_lines.* from log_words join log_lines on log_lines.id = ${search.id}
      where ${has} ${conditionsOf(filter, place, search.id)}
      order by ${order} desc limit ${place.limit}`.execute(reading)
    return rows
  }

  async function lastId(): Promise<number> {
    const row = await reading.selectFrom('log_numbers').select('last').where('name', '=', 'lines').executeTakeFirst()
    return Number(row?.last ?? 0)
  }

  return {
    async store(db, environment, lines) {
      if (lines.length === 0) return
      const { last } = await db
        .updateTable('log_numbers')
        .set(({ eb }) => ({ last: eb('last', '+', lines.length) }))
        .where('name', '=', 'lines')
        .returning('last')
        .executeTakeFirstOrThrow()
      const numbered = lines.map((line, index) => ({ id: Number(last) - lines.length + 1 + index, ...line }))
      await insertLines(db, environment, numbered)
      for (let from = 0; from < numbered.length; from += PAGE) await search.add(db, numbered.slice(from, from + PAGE))
    },
    async read(filter, place) {
      const { environments, words } = filter
      if (environments.length === 0) return []
      if (words !== undefined && words.trim() !== '') return (await readByWords(filter, place, words)).map(lineOf)
      // With one query per environment, the database can use the index order. A combined query would sort all lines.
      const ids: number[] = []
      for (const environment of environments) ids.push(...(await idsOf(filter, environment, place)))
      const newest = ids.sort((one, other) => other - one).slice(0, place.limit)
      if (newest.length === 0) return []
      const rows = await reading
        .selectFrom('log_lines')
        .selectAll()
        .where(isOneOf(reading, 'id', newest))
        .orderBy('id', 'desc')
        .execute()
      return rows.map(lineOf)
    },
    async find(environments, id) {
      const row = await reading.selectFrom('log_lines').selectAll().where('id', '=', id).executeTakeFirst()
      return row === undefined || !environments.includes(row.environment) ? null : lineOf(row)
    },
    last: lastId,
    async errors({ environments, solution }, from, limit) {
      const places: ErrorPlace[] = []
      for (const environment of environments) {
        const inSolution = solution === undefined ? sql`` : sql`and solution = ${solution}`
        const { rows } = await sql<PlaceRow>`select solution, file, line, count(*) as count, max(id) as id
          from log_lines where environment = ${environment} and time >= ${from} and level >= ${sql.lit(LEVELS.error)}
          and file <> '' ${inSolution} group by solution, file, line order by count(*) desc limit ${limit}`.execute(
          reading,
        )
        for (const { id, count, ...place } of rows) {
          const last = await reading
            .selectFrom('log_lines')
            .select(['time', 'message'])
            .where('id', '=', id)
            .executeTakeFirst()
          const { time = 0, message = '' } = last ?? {}
          places.push({ environment, ...place, count: Number(count), lastAt: time, lastMessage: message })
        }
      }
      return places.sort((one, other) => other.count - one.count).slice(0, limit)
    },
    async countErrors({ environments }, from) {
      let total = 0
      for (const environment of environments) {
        const { rows } = await sql<{ count: number }>`select count(*) as count from log_lines
          where environment = ${environment} and time >= ${from} and level >= ${sql.lit(LEVELS.error)}
          and file <> ''`.execute(reading)
        total += Number(rows[0]?.count ?? 0)
      }
      return total
    },
  }
}

type Row = TelemetryTables['log_lines']

/** Number of lines whose words are added to the index per statement. */
const PAGE = 1000

/** Rebuilds the word index for all lines. After a restore, the index is empty. Must be called within a transaction. */
export async function makeWords(db: TelemetryDatabase): Promise<void> {
  const search = logSearchOf(db)
  for (let last = 0; ; ) {
    const rows = await db.selectFrom('log_lines').selectAll().where('id', '>', last).orderBy('id').limit(PAGE).execute()
    await search.add(
      db,
      rows.map((row) => ({ id: row.id, words: wordsOfLine(row.environment, { ...lineOf(row), level: row.level }) })),
    )
    if (rows.length < PAGE) return
    last = rows.at(-1)?.id ?? last
  }
}

/** A line with its words for the search index. Extracting the words costs far more than all other work on a line. */
export type SearchableLine = LogLine & { readonly words: string }

export function searchableLine(environment: string, line: LogLine): SearchableLine {
  return { ...line, words: wordsOfLine(environment, line) }
}

function wordsOfLine(environment: string, line: LogLine): string {
  return [...wordsOf(searched(line)), ...scopeWords(environment, line)].join(' ')
}

type PlaceRow = { solution: string; file: string; line: number; count: number; id: number }

async function insertLines(
  db: TelemetryDatabase,
  environment: string,
  lines: readonly (SearchableLine & { readonly id: number })[],
): Promise<void> {
  const columns = {
    id: 'whole',
    environment: 'text',
    time: 'whole',
    level: 'whole',
    solution: 'text',
    scope: 'text',
    message: 'text',
    code: 'text',
    file: 'text',
    line: 'whole',
    correlation: 'text',
    trace: 'text',
    attributes: 'text',
    size: 'whole',
  } as const
  let bytes = 0
  const rows = lines.map((one) => {
    const { id, time, level, solution, scope, message, code, file, line, correlation, trace } = one
    const attributes = JSON.stringify(one.attributes)
    // Count the message twice, because its words in the index take about as much space as its text.
    const size = 2 * Buffer.byteLength(message) + Buffer.byteLength(attributes) + OVERHEAD
    bytes += size
    return [
      id,
      environment,
      time,
      level,
      solution,
      scope,
      message,
      code,
      file,
      line,
      correlation,
      trace,
      attributes,
      size,
    ]
  })
  await insertMany(db, 'log_lines', columns, rows)
  await addUsage(db, environment, { lines: lines.length, line_bytes: bytes, spans: 0 })
}

export async function addUsage(
  db: TelemetryDatabase,
  environment: string,
  { lines, line_bytes, spans }: Omit<TelemetryTables['telemetry_usage'], 'environment'>,
): Promise<void> {
  await sql`insert into telemetry_usage (environment, lines, line_bytes, spans)
    values (${environment}, ${lines}, ${line_bytes}, ${spans})
    on conflict (environment) do update set lines = telemetry_usage.lines + excluded.lines,
    line_bytes = telemetry_usage.line_bytes + excluded.line_bytes, spans = telemetry_usage.spans + excluded.spans`.execute(
    db,
  )
}

/** @returns the lines that were actually removed; another control center may be removing the same lines */
export async function removeLines(
  db: TelemetryDatabase,
  search: LogSearch,
  ids: readonly number[],
): Promise<readonly { readonly environment: string; readonly size: number }[]> {
  await search.remove(db, ids)
  return db
    .deleteFrom('log_lines')
    .where('id', 'in', [...ids])
    .returning(['environment', 'size'])
    .execute()
}

/** The conditions of a filter, except its words. */
function conditionsOf(
  { level, solution, from, to }: LogFilter,
  { before, after }: LogPlace,
  id: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const conditions = [
    before === undefined ? null : sql`${id} < ${before}`,
    after === undefined ? null : sql`${id} > ${after}`,
    level === undefined || level === 'debug' ? null : sql`log_lines.level >= ${LEVELS[level]}`,
    solution === undefined ? null : sql`log_lines.solution = ${solution}`,
    from === undefined ? null : sql`log_lines.time >= ${from}`,
    to === undefined ? null : sql`log_lines.time < ${to}`,
  ].filter((one) => one !== null)
  return conditions.length === 0 ? sql`` : sql`and ${sql.join(conditions, sql` and `)}`
}

function searched({ message, code, file, correlation, trace, attributes }: LogLine): string {
  return [message, code, file, correlation, trace, ...Object.values(attributes)].join(' ')
}

function lineOf({ level, attributes, size: _, ...line }: Row): StoredLine {
  return { ...line, level: levelName(level), attributes: JSON.parse(attributes) as Attributes }
}
