import type { Badge, Cell, TableElement, TableRow } from '../../../runtime/forms/form-definition.ts'
import type { ElementState, Sort } from '../view.ts'
import { localOrder } from './local-format.ts'

/** The page of table rows that is sent to the browser. */
export type TablePage = {
  readonly rows: readonly TableRow[]
  /** Starts at 1. */
  readonly page: number
  /** The number of pages, at least 1. */
  readonly pages: number
  /** Position of the first row among all rows, starting at 1; 0 if there are no rows. */
  readonly first: number
  readonly total: number
  readonly sort: Sort | null
}

/** Sorts the rows and returns those on the shown page. Browsers may send events only for rows on this page. */
export function shownRows(element: TableElement, state: ElementState, locale: string): TablePage {
  const all = state.rows ?? element.value
  const sort = allowedSort(element, state.sort ?? null)
  const pages = Math.max(1, Math.ceil(all.length / element.pageSize))
  const page = Math.min(Math.max(1, Math.trunc(state.page ?? 1) || 1), pages)
  const start = (page - 1) * element.pageSize
  const badges = element.columns.find(({ name }) => name === sort?.column)?.badges ?? []
  const rows = sorted(all, sort, badges, locale).slice(start, start + element.pageSize)
  return { rows, page, pages, first: rows.length === 0 ? 0 : start + 1, total: all.length, sort }
}

/** Returns a cell's value. Properties inherited from `Object.prototype` are ignored. */
export function cellOf(row: TableRow, column: string): Cell | undefined {
  return Object.hasOwn(row, column) ? row[column] : undefined
}

/**
 * How many leading characters of cells are compared when sorting. Digits are compared as numbers, which is slow:
 * without this limit, sorting 10,000 cells of digits blocks the host for 5 s. With it, sorting takes 0.15 s.
 */
const COMPARED = 64

type Sorted = { readonly locale: string; readonly bySort: Map<string, readonly TableRow[]> }
const kept = new WeakMap<readonly TableRow[], Sorted>()

/**
 * Each row list is sorted only once by each column and direction. Otherwise, a user who sorts 10,000 rows again and again
 * would block the host.
 */
function sorted(
  rows: readonly TableRow[],
  sort: Sort | null,
  badges: readonly Badge[],
  locale: string,
): readonly TableRow[] {
  if (sort === null) return rows
  const key = `${sort.direction} ${sort.column}`
  const last = kept.get(rows)
  const own = last?.locale === locale ? last : { locale, bySort: new Map<string, readonly TableRow[]>() }
  const before = own.bySort.get(key)
  if (before !== undefined) return before
  const order = localOrder(locale)
  const way = sort.direction === 'ascending' ? 1 : -1
  const ranks = new Map(badges.map(({ value }, rank) => [value, rank]))
  const result = rows.toSorted((one, other) => {
    const a = cellOf(one, sort.column) ?? null
    const b = cellOf(other, sort.column) ?? null
    // Empty cells come last in both directions. Users don't sort to see them.
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
    const byRank = ranks.size === 0 ? 0 : rankOf(a) - rankOf(b)
    return way * (byRank || compare(a, b, order))
  })
  own.bySort.set(key, result)
  kept.set(rows, own)
  return result

  /** Values without a badge are sorted after those with one. */
  function rankOf(cell: NonNullable<Cell>): number {
    return ranks.get(String(cell)) ?? ranks.size
  }
}

function compare(a: NonNullable<Cell>, b: NonNullable<Cell>, order: Intl.Collator): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  return order.compare(String(a).slice(0, COMPARED), String(b).slice(0, COMPARED))
}

function allowedSort(element: TableElement, sort: Sort | null): Sort | null {
  const isSortable = element.columns.some(({ name, sortable }) => name === sort?.column && sortable)
  return isSortable ? sort : null
}
