import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CsvError } from 'csv-parse'
import { chunksOf } from '../../base/accounts/user-rows.ts'
import type { UserFault, UserInput } from '../../base/accounts/user-rules.ts'
import { usernameKey } from '../../base/accounts/username.ts'
import { readCell, readPermissionCell } from '../http/csv-cells.ts'

/** Columns of an export, in order. */
export const COLUMNS = ['username', 'displayName', 'email', 'enabled', 'permissions'] as const
/** An import may also contain passwords. */
const READ_COLUMNS = [...COLUMNS, 'password'] as const

type Column = (typeof READ_COLUMNS)[number]

/** `field` is null if the error applies to the whole line. */
export type CsvFault = { readonly line: number; readonly field: string | null } & Omit<UserFault, 'field'>

/** The values for one user. Columns that are not in the file are absent. */
export type CsvLine = { readonly line: number; readonly input: UserInput & { readonly username: string } }

export type CsvLines = { readonly lines: readonly CsvLine[]; readonly faults: readonly CsvFault[] }

/** Maximum number of users per file. The size of the body has a separate limit. */
const MOST_USERS = 20_000
/** Number of bytes to parse before yielding to other requests. */
const PIECE = 16 * 1024

type CellInput = Omit<UserInput, 'username'>
type Row = { readonly line: number; readonly cells: readonly string[] }

/** Parses CSV as defined in RFC 4180, with a header line. The encoding is UTF-8, with or without a byte order mark. */
export async function readLines(bytes: Buffer): Promise<CsvLines> {
  const rows = await readRows(bytes)
  if (!Array.isArray(rows)) return { lines: [], faults: [rows] }
  const [header, ...others] = rows
  const columns = (header?.cells ?? []).map(columnOf)
  const headerFaults = checkHeader(header?.cells ?? [], columns)
  if (headerFaults.length > 0) return { lines: [], faults: headerFaults }
  if (others.length > MOST_USERS) {
    return { lines: [], faults: [fault(1, null, `a file may have at most ${MOST_USERS} users: split the file`)] }
  }
  const faults: CsvFault[] = []
  const lines: CsvLine[] = []
  for (const some of chunksOf(others)) {
    lines.push(...some.map((row) => readRow(row, columns as readonly Column[], faults)))
    await nextTurn()
  }
  return { lines, faults: [...faults, ...findTwice(lines)] }
}

async function readRows(bytes: Buffer): Promise<Row[] | CsvFault> {
  const text = bytes.subarray(0, 3).equals(Buffer.from('\u{feff}')) ? bytes.subarray(3) : bytes
  if (!isUtf8(text)) return fault(1, null, 'the file must be UTF-8: save it as "CSV UTF-8"')
  const csv = await import('csv-parse')
  const parser = csv.parse({
    info: true,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    skip_empty_lines: true,
    to: MOST_USERS + 2,
  })
  const rows: Row[] = []
  const lineAt = countLines(text)
  let end = 0
  try {
    for await (const { record, info } of Readable.from(piecesOf(text)).pipe(parser) as AsyncIterable<Parsed>) {
      rows.push({ line: lineAt(end), cells: record })
      end = info.bytes
    }
    return rows
  } catch (error) {
    // `bytes` is the offset of the record that could not be parsed.
    if (error instanceof csv.CsvError) return fault(lineAt(Number(error.bytes)), null, whyNoCsv(error))
    throw error
  }
}

type Parsed = { readonly record: string[]; readonly info: { readonly bytes: number } }

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE) {
    yield bytes.subarray(at, at + PIECE)
    await nextTurn()
  }
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

/**
 * Returns a function that returns the line number of the record after offset `end`. Call it with increasing offsets.
 * The parser's own line count is wrong after a quoted line break.
 */
function countLines(bytes: Buffer): (end: number) => number {
  let line = 1
  let at = 0
  return (end) => {
    for (; at < end || bytes[at] === LF || bytes[at] === CR; at++) if (bytes[at] === LF) line++
    return line
  }
}

const LF = 10
const CR = 13

function whyNoCsv({ code }: CsvError): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'a quoted cell starts on this line but has no closing quote'
  return 'a cell contains a double quote: enclose the whole cell in double quotes and write the inner one twice (RFC 4180)'
}

function columnOf(cell: string): Column | null {
  const name = cell.trim().toLowerCase()
  return READ_COLUMNS.find((column) => column.toLowerCase() === name) ?? null
}

function checkHeader(cells: readonly string[], columns: readonly (Column | null)[]): CsvFault[] {
  if (cells.length === 1 && cells[0]?.includes(';')) {
    return [fault(1, null, 'the columns must be separated by commas')]
  }
  const known = READ_COLUMNS.join(', ')
  const faults = cells.flatMap((_cell, at) => {
    const column = columns[at]
    if (column === null) {
      // Don't quote the cell: in a file without a header, it may be a password.
      return [fault(1, null, `column ${at + 1} has an unknown header; the known headers are ${known}`)]
    }
    return columns.indexOf(column as Column) < at
      ? [fault(1, column as Column, 'the column appears twice; remove one')]
      : []
  })
  return columns.includes('username')
    ? faults
    : [...faults, fault(1, 'username', 'the header row must contain a "username" column')]
}

function readRow({ line, cells }: Row, columns: readonly Column[], faults: CsvFault[]): CsvLine {
  if (cells.length !== columns.length) {
    faults.push(
      fault(
        line,
        null,
        `the number of cells (${cells.length}) differs from the number of columns in the header row (${columns.length})`,
      ),
    )
  }
  const cell = new Map(columns.map((column, at) => [column, cells[at] ?? '']))
  const input = {
    username: readCell(cell.get('username') ?? ''),
    ...read(cell, 'displayName', (text) => ({ displayName: text === '' ? null : readCell(text) })),
    ...read(cell, 'email', (text) => ({ email: text === '' ? null : readCell(text) })),
    ...read(cell, 'enabled', (text) => readEnabled(text, line, faults)),
    ...read(cell, 'permissions', (text) => ({ permissions: readPermissionCell(readCell(text)) })),
    // Don't unescape passwords: an apostrophe may be part of one, and exports contain no passwords.
    ...read(cell, 'password', (text) => (text === '' ? {} : { password: text })),
  }
  return { line, input }
}

function read(cells: ReadonlyMap<Column, string>, column: Column, set: (text: string) => CellInput): CellInput {
  const text = cells.get(column)
  return text === undefined ? {} : set(text)
}

/** An empty cell changes nothing. */
function readEnabled(text: string, line: number, faults: CsvFault[]): CellInput {
  const value = text.trim().toLowerCase()
  if (value === '') return {}
  if (value !== 'true' && value !== 'false') faults.push(fault(line, 'enabled', 'enabled must be true, false or empty'))
  return { enabled: value !== 'false' }
}

function findTwice(lines: readonly CsvLine[]): CsvFault[] {
  const first = new Map<string, number>()
  return lines.flatMap(({ line, input }) => {
    const key = usernameKey(input.username)
    const before = first.get(key)
    first.set(key, before ?? line)
    return before === undefined
      ? []
      : [fault(line, 'username', `this user is already on line ${before}; remove one of the two lines`)]
  })
}

function fault(line: number, field: Column | null, message: string): CsvFault {
  return { line, field, message }
}
