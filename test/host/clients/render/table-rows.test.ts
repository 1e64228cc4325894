import { expect, test } from 'vitest'
import { shownRows } from '../../../../host/clients/render/table-rows.ts'
import type { TableElement, TableRow } from '../../../../runtime/forms/form-definition.ts'

const TABLE = {
  type: 'table',
  name: 'list',
  columns: [
    { name: 'text', type: 'text', sortable: true },
    { name: 'number', type: 'number', sortable: true },
    { name: 'fixed', type: 'text', sortable: false },
  ],
  pageSize: 200,
  selection: 'none',
  value: [],
  visible: true,
  enabled: true,
} as unknown as TableElement

function sorted(texts: readonly (string | number | null)[], column = 'text', direction = 'ascending'): unknown[] {
  const rows = texts.map((cell, id): TableRow => ({ id, [column]: cell }))
  const sort = { column, direction: direction as 'ascending' }
  return shownRows(TABLE, { rows, sort }, 'en').rows.map((row) => row[column])
}

test('table rows: they are sorted by the rules of the language, numbers in texts by their value, and empty cells last', () => {
  expect(sorted(['order 10', null, 'Order 9', 'b', 'á'])).toEqual(['á', 'b', 'Order 9', 'order 10', null])
  expect(sorted([10, null, 9], 'number', 'descending')).toEqual([10, 9, null])
})

test('table rows: a column that is not sortable leaves the order unchanged', () => {
  expect(sorted(['b', 'a'], 'fixed')).toEqual(['b', 'a'])
  expect(sorted(['b', 'a'], '__proto__')).toHaveLength(2)
})

test('table rows: only the first 64 characters of a cell are compared, so comparing is never slow', () => {
  const same = '1'.repeat(64)
  expect(sorted([`${same}2`, `${same}1`])).toEqual([`${same}2`, `${same}1`])
  const almost = '1'.repeat(63)
  expect(sorted([`${almost}2`, `${almost}1`])).toEqual([`${almost}1`, `${almost}2`])
})

test('table rows: a user who sorts by the same columns again and again causes one sort for each', () => {
  let reads = 0
  const rows = ['b', 'c', 'a'].map(
    (cell, id): TableRow => ({
      id,
      number: id,
      get text() {
        reads++
        return cell
      },
    }),
  )
  const ids = (column: string, direction: 'ascending' | 'descending', locale = 'en') =>
    shownRows(TABLE, { rows, sort: { column, direction } }, locale).rows.map(({ id }) => id)
  const sortAll = () => [ids('text', 'ascending'), ids('text', 'descending'), ids('number', 'descending')]
  const first = sortAll()
  expect(first).toEqual([
    [2, 0, 1],
    [1, 0, 2],
    [2, 1, 0],
  ])
  const before = reads
  expect([sortAll(), reads]).toEqual([first, before])
  expect([ids('text', 'ascending', 'nl'), reads > before]).toEqual([[2, 0, 1], true])
})
