import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { firstRows } from '../../base/database/portable.ts'
import { createBatchWriter } from '../../base/work/batch-writer.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { LogLevel, Position } from '../../runtime/outcome.ts'
import type { HostDatabase } from '../database/tables.ts'
import { createLogQueue } from './log-queue.ts'
import { createLogRetention } from './log-retention.ts'

/** A line of a solution's log, as the API returns it. */
export type LogLine = {
  readonly time: number
  readonly level: LogLevel
  readonly message: string
  readonly code?: string
  readonly file?: string
  readonly line?: number
  readonly column?: number
  readonly correlationId?: string
}

export type NewLogLine = {
  readonly level: LogLevel
  readonly message: string
  readonly code?: string
  readonly position?: Position
  readonly correlationId?: string
}

/** Properties that are absent match every line. */
export type LogFilter = {
  readonly level?: LogLevel | undefined
  /** A part of the message, case-insensitive. */
  readonly text?: string | undefined
  readonly code?: string | undefined
  readonly correlationId?: string | undefined
}

export interface SolutionLog {
  /** Queues a line for the next batch. */
  write(solution: string, line: NewLogLine): void
  /**
   * Returns the newest lines, newest last. `next` is the cursor for older lines. With a filter, a call scans at most
   * `LOOKED_AT` lines. The result can therefore be short or even empty, but still have a `next`.
   */
  read(
    solution: string,
    options: LogFilter & { readonly limit: number; readonly before?: number | undefined },
  ): Promise<{ items: LogLine[]; next?: string }>
  /**
   * Counts the errors at or after `since` (epoch ms) among the newest `COUNTED` lines. If `isLeast` is true, there may
   * be more: older lines from that period were not scanned.
   */
  countErrors(solution: string, since: number): Promise<{ readonly count: number; readonly isLeast: boolean }>
  /**
   * Calls `listener` for each new line. Calls `onEnd` when `endFollowing` is called, because no more lines follow.
   * @returns a function that stops following
   */
  follow(solution: string, listener: (line: LogLine) => void, onEnd?: () => void): () => void
  /** Ends all followers, and any that start later. Call this when the host stops. */
  endFollowing(): void
  /** Writes the queued lines. */
  flush(): Promise<void>
  /** Removes lines that exceed `LOG_KEPT` and `LOG_KEPT_SIZE`. */
  sweep(): Promise<void>
  erase(solution: string): Promise<void>
}

/** SQL Server allows at most 2,100 parameters in a statement. */
const ROWS_OF_INSERT = 150
/** With the embedded database, a transaction blocks the process until it is committed. */
const ROWS_OF_TRANSACTION = 1500

/**
 * Maximum lines scanned per call, and lines read per query. Between queries, the host does other work. Lines can be
 * long, so a query for more of them would block the host.
 */
const LOOKED_AT = 20_000
const READ_AT_ONCE = 200
/** Maximum lines to scan when counting errors, which limits the load on the database. */
export const COUNTED = 5000

type Row = ReturnType<typeof rowOf>

export function createSolutionLog(db: HostDatabase, limits: Limits, now: () => number = Date.now): SolutionLog {
  const retention = createLogRetention(db, limits, now)
  const followers = new EventEmitter().setMaxListeners(0)
  let isEnded = false
  const queue = createLogQueue<Row>()
  const writer = createBatchWriter(writeQueue)

  async function writeQueue(): Promise<void> {
    const { lines, dropped } = queue.take()
    let from = 0
    try {
      for (; from < lines.length; from += ROWS_OF_TRANSACTION) {
        await insert(lines.slice(from, from + ROWS_OF_TRANSACTION))
      }
      if (dropped.size > 0) await insert([...dropped].map(droppedRow))
    } catch (error) {
      queue.putBack({ lines: lines.slice(from), dropped })
      throw error
    }
  }

  function droppedRow([solution, count]: readonly [string, number]): Row {
    const message = `Log lines could not be stored fast enough, because there were too many or the database was slow. Lines dropped: ${count}`
    return rowOf(solution, { level: 'warn', message }, now())
  }

  async function insert(rows: readonly Row[]): Promise<void> {
    await db.transaction().execute(async (transaction) => {
      for (let from = 0; from < rows.length; from += ROWS_OF_INSERT) {
        await transaction
          .insertInto('solution_log')
          .values(rows.slice(from, from + ROWS_OF_INSERT))
          .execute()
      }
    })
    retention.stored(rows)
  }

  async function rowsBefore(solution: string, before: number | undefined, count: number) {
    let query = db.selectFrom('solution_log').selectAll().where('solution', '=', solution)
    if (before !== undefined) query = query.where('id', '<', before)
    return firstRows(db, query.orderBy('id', 'desc'), count).execute()
  }

  return {
    flush: writer.flush,
    write(solution, line) {
      const row = rowOf(solution, line, now())
      queue.add(row)
      followers.emit(eventOf(solution), lineOf(row))
      writer.wake()
    },
    async read(solution, { limit, before, ...filter }) {
      await writer.flush()
      const fits = lineFilter(filter)
      const atOnce = fits === null ? Math.min(limit, READ_AT_ONCE) : READ_AT_ONCE
      const newestFirst: LogLine[] = []
      let next = before
      for (let looked = 0; looked < LOOKED_AT; looked += atOnce) {
        if (looked > 0) await nextTurn()
        const rows = await rowsBefore(solution, next, atOnce)
        for (const row of rows) {
          next = row.id
          const line = lineOf(row)
          if (fits === null || fits(line)) newestFirst.push(line)
          if (newestFirst.length === limit) break
        }
        if (newestFirst.length === limit) break
        if (rows.length < atOnce) return { items: newestFirst.reverse() }
      }
      return { items: newestFirst.reverse(), next: String(next) }
    },
    async countErrors(solution, since) {
      await writer.flush()
      const lines = db.selectFrom('solution_log').select(['time', 'level']).where('solution', '=', solution)
      const newest = firstRows(db, lines.orderBy('id', 'desc'), COUNTED).as('newest')
      const isError = sql<number>`CASE WHEN level = 'error' AND time >= ${since} THEN 1 ELSE 0 END`
      const { errors, looked, oldest } = await db
        .selectFrom(newest)
        .select(({ fn }) => [fn.sum(isError).as('errors'), fn.countAll().as('looked'), fn.min('time').as('oldest')])
        .executeTakeFirstOrThrow()
      return { count: Number(errors ?? 0), isLeast: Number(looked) === COUNTED && Number(oldest) >= since }
    },
    follow(solution, listener, onEnd = () => {}) {
      if (isEnded) onEnd()
      followers.on(eventOf(solution), listener).on(ENDED, onEnd)
      return () => followers.off(eventOf(solution), listener).off(ENDED, onEnd)
    },
    endFollowing() {
      isEnded = true
      followers.emit(ENDED)
    },
    sweep: () => retention.sweep(),
    async erase(solution) {
      await writer.flush()
      await retention.erase(solution)
    },
  }
}

/** Returns a function that checks whether a line matches the filter; null if every line matches. */
export function lineFilter({ level, text, code, correlationId }: LogFilter): ((line: LogLine) => boolean) | null {
  if ([level, text, code, correlationId].every((one) => one === undefined)) return null
  const wanted = text?.toLowerCase()
  return (line) =>
    (level === undefined || line.level === level) &&
    (code === undefined || line.code === code) &&
    (correlationId === undefined || line.correlationId === correlationId) &&
    (wanted === undefined || line.message.toLowerCase().includes(wanted))
}

const ENDED = 'no more lines'

/**
 * Returns the event's name. It has a prefix, because EventEmitter treats the event `error` specially, and a solution
 * may have that name.
 */
function eventOf(solution: string): string {
  return `log of ${solution}`
}

function rowOf(solution: string, { level, message, code, position, correlationId }: NewLogLine, time: number) {
  return {
    solution,
    time,
    level,
    message,
    code: code ?? null,
    file: position?.file ?? null,
    line: position?.line ?? null,
    column: position?.column ?? null,
    correlation_id: correlationId ?? null,
    size: Buffer.byteLength(message),
  }
}

function lineOf(row: Omit<Row, 'level' | 'size'> & { level: string }): LogLine {
  return {
    time: row.time,
    level: row.level as LogLevel,
    message: row.message,
    ...(row.code === null ? {} : { code: row.code }),
    ...(row.file === null ? {} : { file: row.file }),
    ...(row.line === null ? {} : { line: row.line }),
    ...(row.column === null ? {} : { column: row.column }),
    ...(row.correlation_id === null ? {} : { correlationId: row.correlation_id }),
  }
}
