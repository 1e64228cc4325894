import { isJsonObject, parsedJson } from '../../runtime/json.ts'
import type { Row } from './read-tables.ts'
import type { BackupTable } from './tables.ts'

/** Maximum length of a line, in bytes. Each line contains one row. The longest rows contain a bundle in base64. */
const LONGEST_LINE = 384 * 1024 ** 2

/** @returns the row as one line of JSON, with binary data in base64 */
function lineOf(row: Row, { bytes = [] }: BackupTable): string {
  const plain: Record<string, unknown> = { ...row }
  for (const column of bytes) {
    const content = row[column] as Uint8Array | null
    plain[column] = content === null ? null : Buffer.from(content).toString('base64')
  }
  return `${JSON.stringify(plain)}\n`
}

/** Lines are joined until a chunk has this many characters. */
const PIECE = 64 * 1024

/** Yields the rows as lines. Lines are joined into larger chunks, because each chunk is compressed separately. */
export function* piecesOf(rows: readonly Row[], table: BackupTable): Generator<Buffer> {
  let text = ''
  for (const row of rows) {
    text += lineOf(row, table)
    if (text.length < PIECE) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}

/** @throws TypeError with the line number and the problem */
export async function* readLines(pieces: AsyncIterable<Buffer>, table: BackupTable): AsyncGenerator<Row> {
  let rest: Buffer[] = []
  let waiting = 0
  let count = 0
  for await (const piece of pieces) {
    let from = 0
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, from)) {
      const line = Buffer.concat([...rest, piece.subarray(from, end)])
      rest = []
      waiting = 0
      from = end + 1
      yield rowOf(line, table, ++count)
    }
    waiting += piece.length - from
    if (waiting > LONGEST_LINE) throw new TypeError(`line ${count + 1} is too long`)
    rest.push(piece.subarray(from))
  }
  if (waiting > 0) throw new TypeError('the last line is incomplete')
}

function rowOf(line: Buffer, { bytes = [] }: BackupTable, number: number): Row {
  const row = parsedJson(line.toString('utf8'))
  if (!isJsonObject(row) || !Object.values(row).every(isPlain))
    throw new TypeError(`line ${number} is not a JSON object of column values`)
  for (const column of bytes) {
    if (row[column] === null) continue
    if (typeof row[column] !== 'string')
      throw new TypeError(`line ${number}: the value of the binary column "${column}" is not a base64 string`)
    row[column] = new Uint8Array(Buffer.from(row[column], 'base64'))
  }
  return row
}

function isPlain(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'number'
}
