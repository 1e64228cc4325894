import type { Message } from './messages.ts'
import type { ReadItems } from './read-metrics.ts'
import { type Attributes, attributesOf, idOf, listOf, messageOf, millisecondsOf, plainValueOf } from './values.ts'

/**
 * The lowest severity number of each level.
 * @see https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber
 */
export const LEVELS = { debug: 5, info: 9, warn: 13, error: 17, fatal: 21 } as const
export type Level = keyof typeof LEVELS
export const LEVEL_NAMES = Object.keys(LEVELS) as Level[]

/** A log line. `level` is one of `LEVELS`; `time` is in epoch ms. Unknown texts are empty. */
export type LogLine = {
  readonly time: number
  readonly level: number
  readonly message: string
  /** `solhost` if the platform itself wrote the line, `solhost.solution` if a script did. */
  readonly scope: string
  readonly solution: string
  readonly code: string
  /** The script file, such as `scripts/main.js`, and the line number in it; '' and 0 if unknown. */
  readonly file: string
  readonly line: number
  readonly correlation: string
  readonly trace: string
  /** The line's other attributes, which have no separate field. */
  readonly attributes: Attributes
}

export const MOST_LINES = 10_000
/** Maximum total characters of a line's other attributes. Attributes beyond this limit are dropped. */
const MOST_ATTRIBUTE_TEXT = 16_000
/** Maximum characters of a name, such as a solution name. */
const LONGEST = 200

/** Attributes that are stored in separate fields. */
const FIELDS = {
  'solhost.solution': 'solution',
  'solhost.code': 'code',
  'solhost.correlation_id': 'correlation',
  'solhost.correlationId': 'correlation',
  'code.file.path': 'file',
  'code.line.number': 'line',
} as const

export function readLogs(request: Message, now: number): ReadItems<LogLine> {
  const records = listOf(request.resourceLogs)
    .flatMap(({ scopeLogs }) => listOf(scopeLogs))
    .flatMap(({ scope, logRecords }) => {
      const name = String(messageOf(scope).name ?? '').slice(0, LONGEST)
      return listOf(logRecords).map((record) => ({ record, scope: name }))
    })
  const items = records.slice(0, MOST_LINES).map(({ record, scope }) => lineOf(record, scope, now))
  return {
    items,
    rejected: records.length - items.length,
    why: `at most ${MOST_LINES} log records are accepted per request`,
  }
}

function lineOf(record: Message, scope: string, now: number): LogLine {
  const fields = { solution: '', code: '', correlation: '', file: '', line: 0 }
  const attributes: Record<string, string | number | boolean> = {}
  let room = MOST_ATTRIBUTE_TEXT
  for (const [name, value] of Object.entries(attributesOf(record.attributes))) {
    const field = Object.hasOwn(FIELDS, name) ? FIELDS[name as keyof typeof FIELDS] : undefined
    if (field === undefined) {
      room -= name.length + String(value).length
      if (room > 0) attributes[name] = value
    } else if (field === 'line')
      fields.line = Number.isSafeInteger(value) ? Math.max(0, Math.min(Number(value), 1e9)) : 0
    else fields[field] = String(value).slice(0, LONGEST).toWellFormed()
  }
  const time = millisecondsOf(record.timeUnixNano) || millisecondsOf(record.observedTimeUnixNano) || now
  return {
    // Replace times in the future. Otherwise, lines from a sender whose clock is ahead would stay at the top of the
    // list.
    time: Math.min(time, now),
    level: levelOf(Number(record.severityNumber ?? 0)),
    message: String(plainValueOf(record.body)),
    scope: scope.toWellFormed().replaceAll('\0', '\u{fffd}'),
    ...fields,
    trace: idOf(record.traceId),
    attributes,
  }
}

function levelOf(severity: number): number {
  if (!(severity > 0)) return LEVELS.info
  return Object.values(LEVELS).findLast((least) => severity >= least) ?? LEVELS.debug
}

export function levelName(level: number): Level {
  return LEVEL_NAMES.find((name) => LEVELS[name] === level) ?? 'info'
}
