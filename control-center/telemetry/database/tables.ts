import { type Generated, type Kysely, sql } from 'kysely'
import type { OpenDatabase } from '../../../base/database/kind.ts'
import { kindOf } from '../../../base/database/kinds.ts'
import type { Migrations, Steps } from '../../../base/database/migrations.ts'
import type { Database } from '../../../base/database/open.ts'

/**
 * Satellite telemetry. Times are epoch ms unless stated otherwise; `environment` is an environment's id; JSON is stored
 * as text.
 */
export type TelemetryTables = {
  /** Requests that have already been stored, so that a retry isn't stored twice. `hash` is the hash of the body. */
  telemetry_batches: { environment: string; hash: string; time: number }
  /**
   * A metric with its attributes. `hash` is the hash of metric, kind, attributes and bounds; `bounds` is JSON, for
   * histograms only.
   */
  metric_series: {
    id: Generated<number>
    environment: string
    metric: string
    kind: string
    attributes: string
    bounds: string | null
    hash: string
    last_at: number
  }
  /**
   * The last point that each process reported for a series. The difference to the next point is calculated from it.
   * `counts` is JSON, for histograms only.
   */
  metric_states: {
    series: number
    instance: string
    time: number
    /** Time between the last two points, in ms. */
    every: number
    value: number
    counts: string | null
  }
  /**
   * Aggregates over a time slot of `step` seconds. Rows with `bucket` -1 contain the totals. For a counter, `sum` is
   * its increase. For gauges and histograms, `count` is the number of values and `sum` their sum. Gauges also have
   * `last` and `highest`. In rows with `bucket` 0 or higher, `count` is the number of values in that bucket of a
   * histogram.
   */
  metric_points: {
    series: number
    step: number
    time: number
    bucket: number
    count: number
    sum: number
    last: number | null
    highest: number | null
  }
  /**
   * A single row with the highest id of `log_lines`. A writer locks it until it commits, so that ids become visible in
   * order.
   */
  log_numbers: { name: string; last: number }
  log_lines: {
    id: number
    environment: string
    time: number
    level: number
    solution: string
    scope: string
    message: string
    code: string
    file: string
    line: number
    correlation: string
    trace: string
    attributes: string
    /** Approximate size in bytes. */
    size: number
  }
  /** The amount of stored data per environment. */
  telemetry_usage: { environment: string; lines: number; line_bytes: number; spans: number }
  /** `start` in epoch µs, `duration` in µs; `root` and `failed` are 0 or 1. */
  spans: {
    environment: string
    trace: string
    span: string
    parent: string
    name: string
    root: number
    start: number
    duration: number
    failed: number
    solution: string
    attributes: string
  }
}

export type TelemetryDatabase = Kysely<TelemetryTables>

/** Narrows a database's type to the telemetry tables. */
export function telemetryTables(db: Database): TelemetryDatabase {
  return db.$extendTables<TelemetryTables>().$pickTables<keyof TelemetryTables>()
}

const TELEMETRY_STEPS: Steps = (schema, { key, text, id, counts }, db) => {
  const isEmbedded = kindOf(db).name === 'embedded'
  // In SQLite, the rows are stored in the primary key's index. This halves their size and keeps the points of a series
  // together.
  const end = isEmbedded ? sql`without rowid` : sql``
  return [
    schema
      .createTable('telemetry_batches')
      .addColumn('environment', key, (column) => column.notNull())
      .addColumn('hash', key, (column) => column.notNull())
      .addColumn('time', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('telemetry_batches_key', ['environment', 'hash'])
      .modifyEnd(end),
    schema.createIndex('telemetry_batches_time').on('telemetry_batches').columns(['time']),
    schema
      .createTable('metric_series')
      .addColumn('id', id, (column) => counts(column.primaryKey()))
      .addColumn('environment', key, (column) => column.notNull())
      .addColumn('metric', key, (column) => column.notNull())
      .addColumn('kind', key, (column) => column.notNull())
      .addColumn('attributes', text, (column) => column.notNull())
      .addColumn('bounds', text)
      .addColumn('hash', key, (column) => column.notNull())
      .addColumn('last_at', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('metric_series_hash', ['environment', 'hash']),
    schema.createIndex('metric_series_metric').on('metric_series').columns(['environment', 'metric']),
    schema
      .createTable('metric_states')
      .addColumn('series', 'bigint', (column) => column.notNull())
      .addColumn('instance', key, (column) => column.notNull())
      .addColumn('time', 'bigint', (column) => column.notNull())
      .addColumn('every', 'bigint', (column) => column.notNull())
      .addColumn('value', 'double precision', (column) => column.notNull())
      .addColumn('counts', text)
      .addPrimaryKeyConstraint('metric_states_key', ['series', 'instance'])
      .modifyEnd(end),
    schema
      .createTable('metric_points')
      .addColumn('series', 'bigint', (column) => column.notNull())
      .addColumn('step', 'integer', (column) => column.notNull())
      .addColumn('time', 'bigint', (column) => column.notNull())
      .addColumn('bucket', 'integer', (column) => column.notNull())
      .addColumn('count', 'double precision', (column) => column.notNull())
      .addColumn('sum', 'double precision', (column) => column.notNull())
      .addPrimaryKeyConstraint('metric_points_key', ['series', 'step', 'time', 'bucket'])
      .modifyEnd(end),
    schema
      .createTable('log_numbers')
      .addColumn('name', key, (column) => column.primaryKey())
      .addColumn('last', 'bigint', (column) => column.notNull()),
    { execute: () => sql`insert into log_numbers (name, last) values ('lines', 0)`.execute(db) },
    schema
      .createTable('log_lines')
      .addColumn('id', 'bigint', (column) => column.notNull())
      .addColumn('environment', key, (column) => column.notNull())
      .addColumn('time', 'bigint', (column) => column.notNull())
      .addColumn('level', 'integer', (column) => column.notNull())
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('scope', text, (column) => column.notNull())
      .addColumn('message', text, (column) => column.notNull())
      .addColumn('code', text, (column) => column.notNull())
      .addColumn('file', text, (column) => column.notNull())
      .addColumn('line', 'integer', (column) => column.notNull())
      .addColumn('correlation', text, (column) => column.notNull())
      .addColumn('trace', text, (column) => column.notNull())
      .addColumn('attributes', text, (column) => column.notNull())
      .addColumn('size', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('log_lines_key', ['id']),
    // This index covers all filters except words, so the database reads only the rows of lines that match.
    schema.createIndex('log_lines_order').on('log_lines').columns(['environment', 'id', 'time', 'level', 'solution']),
    schema.createIndex('log_lines_time').on('log_lines').columns(['time']),
    schema
      .createIndex('log_lines_errors')
      .on('log_lines')
      .columns(['environment', 'time'])
      .where(sql.ref('level'), '>=', sql.lit(17))
      .where(sql.ref('file'), '<>', sql.lit('')),
    schema
      .createTable('telemetry_usage')
      .addColumn('environment', key, (column) => column.primaryKey())
      .addColumn('lines', 'bigint', (column) => column.notNull())
      .addColumn('line_bytes', 'bigint', (column) => column.notNull())
      .addColumn('spans', 'bigint', (column) => column.notNull()),
    schema
      .createTable('spans')
      .addColumn('environment', key, (column) => column.notNull())
      .addColumn('trace', key, (column) => column.notNull())
      .addColumn('span', key, (column) => column.notNull())
      .addColumn('parent', text, (column) => column.notNull())
      .addColumn('name', text, (column) => column.notNull())
      .addColumn('root', 'integer', (column) => column.notNull())
      .addColumn('start', 'bigint', (column) => column.notNull())
      .addColumn('duration', 'bigint', (column) => column.notNull())
      .addColumn('failed', 'integer', (column) => column.notNull())
      .addColumn('solution', key, (column) => column.notNull())
      .addColumn('attributes', text, (column) => column.notNull())
      .addPrimaryKeyConstraint('spans_key', ['environment', 'trace', 'span'])
      .modifyEnd(end),
    schema.createIndex('spans_order').on('spans').columns(['environment', 'root', 'start']),
    ...(isEmbedded ? embeddedWords(db) : alphaWords(db)),
  ]
}

/**
 * The word index of log lines, filled and queried by `log-search/`. We split the words ourselves so that both database
 * kinds find the same lines. SQLite's ascii tokenizer treats all non-ASCII characters as part of a word. The text
 * itself is not stored a second time.
 */
function embeddedWords(db: OpenDatabase) {
  const table = sql`create virtual table log_words using fts5(words, content='', contentless_delete=1, detail=none,
    tokenize="ascii tokenchars '_'")`
  return [{ execute: () => table.execute(db) }]
}

function alphaWords(db: OpenDatabase) {
  return [
    { execute: () => sql`create table log_words (id bigint primary key, words tsvector not null)`.execute(db) },
    { execute: () => sql`create index log_words_index on log_words using gin (words)`.execute(db) },
  ]
}

/**
 * Creates and changes the telemetry tables. On a server, they are in the control center's database. An embedded database
 * has a separate file for them.
 */
export const TELEMETRY_MIGRATIONS: Migrations = {
  versions: {
    '001-telemetry': TELEMETRY_STEPS,
    '002-gauges': (schema) => [
      schema.alterTable('metric_points').addColumn('last', 'double precision'),
      schema.alterTable('metric_points').addColumn('highest', 'double precision'),
    ],
  },
  migrationTableName: 'telemetry_migration',
  migrationLockTableName: 'telemetry_migration_lock',
}
