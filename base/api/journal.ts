import { createCompiledInsert } from '../database/compiled-insert.ts'
import { deleteInPages } from '../database/delete-in-pages.ts'
import type { Database } from '../database/open.ts'
import { firstRows } from '../database/portable.ts'
import { networkOf } from '../http/network.ts'
import { createBatchWriter } from '../work/batch-writer.ts'
import { createNews } from '../work/news.ts'

const TEXTS = ['actor', 'action', 'target', 'place', 'outcome', 'address', 'correlationId'] as const
type Text = (typeof TEXTS)[number]

/**
 * An audit log entry: who did what, from where, and the outcome. Never contains a password, token, key, code or
 * `custom_*` value.
 */
export type JournalEntry = { readonly [Name in Text]?: string | undefined } & {
  /** For example `user:{name}` or `token:{id}`. */
  readonly actor: string
  readonly action: string
  /** The user or object that the action changed. Absent if the actor is the target, for example in a sign-in. */
  readonly target?: string | undefined
  /** Where the action took place: on a host, the solution's name; in the control center, the organisation's id. */
  readonly place?: string | undefined
  /** `ok`, `refused`, `throttled` or an error code. */
  readonly outcome: string
  readonly address: string
}

export type WrittenEntry = JournalEntry & { readonly id: number; readonly time: number }

export type JournalFilter = { readonly [Name in Text]?: string | undefined } & {
  /** The start of the time range, in epoch ms. Start and end are included. */
  readonly from?: number | undefined
  readonly to?: number | undefined
}

export type JournalQuery = JournalFilter & {
  readonly limit: number
  readonly before?: number | undefined
  /**
   * Maximum number of entries that a query with this filter scans, starting with the newest. Used for filters without
   * an index. Default: all entries.
   */
  readonly mostLookedAt?: number | undefined
}

/** The table that stores the entries. */
export type JournalTable = {
  readonly name: string
  readonly columns: { readonly place: string; readonly target: string }
  /** The value stored in a column if the entry has no value for it. */
  readonly absent: '' | null
}

/** The audit log of one service. The service defines the actions and who may read them. */
export interface Journal {
  /** Queues an entry for the next batch. */
  note(entry: JournalEntry): void
  /** Resolves when the entry is stored in the database. */
  record(entry: JournalEntry): Promise<void>
  /**
   * Whether to record an entry that anyone can cause repeatedly. Returns true at most once a minute for the same entry.
   * Entries that differ only in the actor are treated as the same, because an attacker can type any number of names.
   * @param isActorProven whether the actor has proven their identity; if so, each actor has a separate limit
   */
  isNews(entry: JournalEntry, isActorProven?: boolean): boolean
  /**
   * Returns a page of entries, newest first. To get older ones, pass `next` as `before`. With `mostLookedAt`, a page
   * can contain fewer entries than requested and still have a `next`.
   */
  read(query: JournalQuery): Promise<{ readonly items: readonly WrittenEntry[]; readonly next?: string }>
  /**
   * Returns the sorted distinct values of a column in the newest 10,000 entries, as options for a filter. Returns at
   * most 200 values, and no empty ones.
   * @param place if set, only entries of this place are read
   */
  valuesOf(column: 'action' | 'outcome' | 'place', place?: string): Promise<string[]>
  flush(): Promise<void>
  /** Deletes entries that are past their retention time. */
  sweep(): Promise<void>
}

/** Maximum number of entries in the queue while the database is unreachable. */
const MAX_WAITING = 20_000
/** Maximum number of rows per statement; a power of two. */
const MOST_ROWS = 128
/** `valuesOf` scans only this many of the newest entries, because no index contains the values. */
const NEWEST = 10_000
/** Maximum number of values that `valuesOf` returns. */
const MOST_VALUES = 200
/** Longer names are truncated, because browsers can send names of any length. */
const LONGEST = 200

type Value = string | number | null
type Row = Readonly<Record<string, Value>>

/** @param kept the retention time, in ms @param now returns the current time in epoch milliseconds */
export function createJournal(
  platform: Database,
  { name, columns, absent }: JournalTable,
  kept: number,
  now: () => number,
): Journal {
  const db = platform.withTables<Record<string, Record<string, Value>>>()
  const columnOf: Readonly<Record<Text, string>> = {
    actor: 'actor',
    action: 'action',
    outcome: 'outcome',
    address: 'address',
    correlationId: 'correlation',
    ...columns,
  }
  let waiting: Row[] = []
  const isNews = createNews(now)
  const writer = createBatchWriter(writeQueue)

  async function writeQueue(): Promise<void> {
    const rows = waiting
    waiting = []
    try {
      if (rows.length > 0) await insert(rows)
    } catch (error) {
      waiting = [...rows, ...waiting].slice(-MAX_WAITING)
      throw error
    }
  }

  const queryOf = createCompiledInsert<Row>(platform, name, [...TEXTS.map((each) => columnOf[each]), 'time'])

  /** The numbers of rows per statement are powers of two, so that there are few different statements to compile. */
  async function insert(rows: readonly Row[]): Promise<void> {
    await db.transaction().execute(async (transaction) => {
      for (let from = 0, size = MOST_ROWS; from < rows.length; ) {
        while (size > rows.length - from) size /= 2
        await transaction.executeQuery(queryOf(rows.slice(from, from + size)))
        from += size
      }
    })
  }

  function rowOf(entry: JournalEntry): Row {
    const texts = TEXTS.map((each) => [columnOf[each], entry[each] === undefined ? absent : oneLine(entry[each])])
    return { ...Object.fromEntries(texts), time: now() }
  }

  function entryOf(row: Row): WrittenEntry {
    return {
      id: Number(row.id),
      time: Number(row.time),
      actor: String(row.actor),
      action: String(row.action),
      target: textOf(row[columnOf.target]),
      place: textOf(row[columnOf.place]),
      outcome: String(row.outcome),
      address: String(row.address),
      // During an upgrade, older hosts (before schema version 005) may still run. They write the id to another column.
      correlationId: textOf(row.correlation ?? row.correlation_id),
    }
  }

  function matching({ from, to, ...filter }: JournalFilter) {
    let query = db.selectFrom(name)
    for (const each of TEXTS) {
      const text = filter[each]
      if (text !== undefined) query = query.where(columnOf[each], '=', text)
    }
    if (from !== undefined) query = query.where('time', '>=', from)
    if (to !== undefined) query = query.where('time', '<=', to)
    return query
  }

  /**
   * @returns the lowest id that a query may read, so that it scans at most `most` entries; 0 if it may read all of them
   */
  async function oldestOf(most: number, before: number | undefined, place: string | undefined): Promise<number> {
    if (place !== undefined) return oldestIn(place, most, before)
    const { newest } = await db
      .selectFrom(name)
      .select(({ fn }) => fn.max('id').as('newest'))
      .executeTakeFirstOrThrow()
    const last = Math.min(before ?? Number.POSITIVE_INFINITY, Number(newest ?? 0) + 1)
    return Math.max(0, last - most)
  }

  /** The ids of a place's entries are not consecutive, so the index on places is used to count the entries. */
  async function oldestIn(place: string, most: number, before = Number.MAX_SAFE_INTEGER): Promise<number> {
    const newest = matching({ place }).select('id').where('id', '<', before).orderBy('id', 'desc')
    const { oldest, count } = await db
      .selectFrom(firstRows(platform, newest, most).as('newest'))
      .select(({ fn }) => [fn.min('id').as('oldest'), fn.countAll().as('count')])
      .executeTakeFirstOrThrow()
    return Number(count) < most ? 0 : Number(oldest)
  }

  return {
    note(entry) {
      if (waiting.length < MAX_WAITING) waiting.push(rowOf(entry))
      writer.wake()
    },
    record: (entry) => insert([rowOf(entry)]),
    isNews: ({ actor, action, target, place, outcome, address }, isActorProven = false) =>
      isNews(JSON.stringify([action, target, place, outcome, networkOf(address), isActorProven ? actor : ''])),
    async read({ limit, before, mostLookedAt, ...filter }) {
      await writer.flush()
      const oldest = mostLookedAt === undefined ? 0 : await oldestOf(mostLookedAt, before, filter.place)
      let query = matching(filter).selectAll().orderBy('id', 'desc')
      if (before !== undefined) query = query.where('id', '<', before)
      if (oldest > 0) query = query.where('id', '>=', oldest)
      const rows = await firstRows(platform, query, limit + 1).execute()
      const items = rows.slice(0, limit).map(entryOf)
      const next = rows.length > limit ? items.at(-1)?.id : oldest
      return next === undefined || next === 0 ? { items } : { items, next: String(next) }
    },
    async valuesOf(column, place) {
      await writer.flush()
      const name = columnOf[column]
      const query = matching({ place }).select(name).orderBy('id', 'desc')
      const values = db
        .selectFrom(firstRows(platform, query, NEWEST).as('newest'))
        .select(name)
        .distinct()
        .orderBy(name)
      const rows = await firstRows(platform, values, MOST_VALUES).execute()
      return rows.map((row) => textOf(row[name]) ?? '').filter((value) => value !== '')
    },
    flush: writer.flush,
    sweep: () => deleteExpired(platform, name, now() - kept),
  }
}

function deleteExpired(platform: Database, name: string, before: number): Promise<void> {
  const db = platform.withTables<Record<string, { id: number; time: number }>>()
  const expired = db.selectFrom(name).select(['id', 'time']).where('time', '<', before).orderBy('time').orderBy('id')
  return deleteInPages(
    (count) => firstRows(platform, expired, count).execute(),
    ({ id, time }) => db.deleteFrom(name).where('time', '<=', time).where('id', '<=', id).execute(),
  )
}

/** Replaces characters that break lines or change the text direction, because names can contain any character. */
export function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '\u{fffd}')
    .slice(0, LONGEST)
}

function textOf(value: Value | undefined): string | undefined {
  return value === null || value === undefined ? undefined : String(value)
}
