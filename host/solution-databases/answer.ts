import type { Row } from '../../plugins/database/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import { overRows, overSize } from './query-errors.ts'

/** The rows of one query. Limits are checked as the rows arrive. */
export type Answer = {
  readonly rows: readonly Row[]
  /** @throws ScriptError with the name of the limit, at the first row that exceeds it */
  readonly add: (columns: readonly string[], values: readonly Row[string][]) => void
}

export function createAnswer(limits: Limits): Answer {
  const rows: Row[] = []
  let size = 2
  return {
    rows,
    add(columns, values) {
      if (rows.length >= limits.QUERY_ROWS) throw overRows(limits)
      // The object has no prototype, so that columns can have any name.
      const row: Record<string, Row[string]> = Object.create(null)
      for (const [index, column] of columns.entries()) row[column] = values[index] ?? null
      size += Buffer.byteLength(JSON.stringify(row)) + 1
      if (size > limits.QUERY_SIZE) throw overSize(limits)
      rows.push(row)
    },
  }
}

/** Returns an integer as a number if it is exact, otherwise as text. */
export function integerOf(value: bigint | string): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : `${value}`
}

/** JSON has no NaN or infinity, so they become text. */
export function floatOf(value: number): number | string {
  return Number.isFinite(value) ? value : `${value}`
}

/**
 * Returns `2026-11-21 22:34:27.123+00` as `2026-11-21T22:34:27.123Z`; other formats, such as `infinity`, stay
 * unchanged.
 */
export function isoText(text: string): string {
  const match = /^(\d{4,6}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d(?::?\d\d)?|Z)?$/.exec(text)
  if (match === null) return text
  const [, date, time, zone = ''] = match
  return `${date}T${time}${/^[+-]00(:?00)?$/.test(zone) ? 'Z' : zone}`
}
