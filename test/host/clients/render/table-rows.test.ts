import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shownRows } from '../../../../host/clients/render/table-rows.ts'
import type { TableElement, TableRow } from '../../../../runtime/forms/form-definition.ts'
import { propertyRuns } from '../../../support/property-runs.ts'

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

function sorted(
  texts: readonly (string | number | null)[],
  column = 'text',
  direction = 'ascending',
  locale = 'en',
): unknown[] {
  const rows = texts.map((cell, id): TableRow => ({ id, [column]: cell }))
  const sort = { column, direction: direction as 'ascending' }
  return shownRows(TABLE, { rows, sort }, locale).rows.map((row) => row[column])
}

test('table rows: they are sorted by the rules of the language, numbers in texts by their value, and empty cells last', () => {
  expect(sorted(['order 10', null, 'Order 9', 'b', 'á'])).toEqual(['á', 'b', 'Order 9', 'order 10', null])
  expect(sorted([10, null, 9], 'number', 'descending')).toEqual([10, 9, null])
  expect(sorted(['n 𝟙𝟘', 'n 𝟡', 'n ١٠', 'n ٩', 'n 007', 'n 08'])).toEqual([
    ...['n 007', 'n 08'],
    ...['n 𝟡', 'n ٩'],
    ...['n 𝟙𝟘', 'n ١٠'],
  ])
})

test('table rows: any texts are sorted as by a collator that compares numbers by their value', () => {
  const part = fc.oneof(
    fc.constantFrom(..."abABz áÄßéøя日漢あ한€-_.,/#()'"),
    fc.constantFrom('0', '1', '9'),
    fc.nat(3000).map(String),
  )
  const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''))
  const texts = fc.array(text, { minLength: 2, maxLength: 30 })
  const property = fc.property(texts, fc.constantFrom('en', 'de', 'sv', 'ar', 'ja'), (all, locale) => {
    const { compare } = new Intl.Collator(locale, { numeric: true })
    expect(sorted(all, 'text', 'ascending', locale)).toEqual(all.toSorted(compare))
  })
  fc.assert(property, { numRuns: propertyRuns(2000) })
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
