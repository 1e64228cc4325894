import { setImmediate } from 'node:timers/promises'

/** Maximum rows per statement. A statement on the embedded database blocks the whole process while it runs. */
export const PAGE = 1000

/**
 * Deletes rows page by page, and lets the process do other work in between. Stops at the first page without a row to
 * delete.
 * @param read reads the first `count` rows that still exist, in an order that `remove` can use
 * @param remove deletes the rows up to and including `last`, which are also passed as `rows`
 * @param isExpired whether a row must be deleted. The rows before it are deleted too. Default: all rows
 * @param page the maximum number of rows per statement; smaller if the rows are large
 */
export async function deleteInPages<Row>(
  read: (count: number) => Promise<readonly Row[]>,
  remove: (last: Row, rows: readonly Row[]) => Promise<unknown>,
  isExpired: (row: Row) => boolean = () => true,
  page: number = PAGE,
): Promise<void> {
  for (;;) {
    const found = await read(page)
    const rows = found.slice(0, found.findLastIndex(isExpired) + 1)
    const last = rows.at(-1)
    if (last === undefined) return
    await remove(last, rows)
    await setImmediate()
  }
}
