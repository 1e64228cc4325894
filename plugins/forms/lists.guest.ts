import type { Checks } from './checks.guest.ts'
import type { Api, Element, ElementDefinition, Row } from './types.guest.ts'

const MOST_OPTIONS = 1000
const MOST_ROWS = 10_000

export type Lists = ReturnType<typeof createLists>

/** Validates lists that scripts set: options, rows, and the ids of selected rows. */
export function createLists(api: Api, { fail, readText, isKey, isDay, listOf, spend }: Checks) {
  const { safe } = api

  function readOptions(path: string, value: unknown): unknown {
    const { list, length } = listOf(path, value, MOST_OPTIONS, 'options')
    const seen = api.record<true>()
    let text = '['
    for (let index = 0; index < length; index++) {
      const option = list[index]
      const at = `${path}[${index}]`
      if (typeof option !== 'object' || option === null) return fail(at, 'an object with value and label', option)
      const { value: key, label } = option as { value: unknown; label: unknown }
      if (!isKey(key)) return fail(`${at}.value`, 'a string of 1 to 200 characters or a number', key)
      if (seen[`${key}`]) return fail(`${at}.value`, 'unique among the options', key)
      seen[`${key}`] = true
      const shown = readText(`${at}.label`, label, 2000, false)
      const item = `{"value":${safe.stringify(key)},"label":${safe.stringify(shown)}}`
      text += `${index === 0 ? '' : ','}${item}`
      spend(path, item.length, text.length)
    }
    return frozenList(safe.parse(`${text}]`) as object[])
  }

  function readRows({ columns }: ElementDefinition, path: string, value: unknown): unknown {
    const { list, length } = listOf(path, value, MOST_ROWS, 'rows')
    const seen = api.record<true>()
    let text = '['
    for (let index = 0; index < length; index++) {
      const row = list[index]
      const at = `${path}[${index}]`
      if (typeof row !== 'object' || row === null) return fail(at, 'an object with id and cells', row)
      const names = safe.keys(row)
      let id: unknown
      let cells = ''
      for (let place = 0; place < names.length; place++) {
        const name = names[place] as string
        const cell = (row as Record<string, unknown>)[name]
        if (name === 'id') id = cell
        else cells += `,${safe.stringify(name)}:${readCell(columns, `${at}.${name}`, name, cell)}`
      }
      if (!isKey(id)) return fail(`${at}.id`, 'a string of 1 to 200 characters or a number', id)
      if (seen[`${id}`]) return fail(`${at}.id`, 'unique among the rows', id)
      seen[`${id}`] = true
      const item = `{"id":${safe.stringify(id)}${cells}}`
      text += `${index === 0 ? '' : ','}${item}`
      spend(path, item.length, text.length)
    }
    return frozenRows(safe.parse(`${text}]`) as Row[])
  }

  /** @returns the cell as JSON */
  function readCell(columns: ElementDefinition['columns'], path: string, name: string, cell: unknown): string {
    let type: string | null = null
    for (let index = 0; index < columns.length; index++) {
      const column = columns[index] as { name: string; type: string }
      if (column.name === name) type = column.type
    }
    if (type === null) throw new safe.TypeError(`${safe.slice(path, 0, 300)}: the table has no such column`)
    if (cell === null || cell === undefined) return 'null'
    if (type === 'number')
      return typeof cell === 'number' && safe.isFinite(cell)
        ? safe.stringify(cell)
        : fail(path, 'a number or null', cell)
    if (type === 'boolean')
      return typeof cell === 'boolean' ? safe.stringify(cell) : fail(path, 'true, false or null', cell)
    if (type === 'date')
      return isDay(cell) ? safe.stringify(cell) : fail(path, 'a date in the format YYYY-MM-DD or null', cell)
    if (typeof cell === 'string' && cell.length <= 10_000 && safe.isWellFormed(cell)) return safe.stringify(cell)
    return fail(path, 'a string of at most 10000 characters or null', cell)
  }

  function frozenRows(rows: Row[]): readonly Row[] {
    return frozenList(rows) as readonly Row[]
  }

  function frozenList(items: object[]): readonly object[] {
    for (let index = 0; index < items.length; index++) safe.freeze(items[index])
    return safe.freeze(items)
  }

  function idsOf(rows: readonly Row[]): Record<string, string | number> {
    const ids = api.record<string | number>()
    for (let index = 0; index < rows.length; index++) {
      const { id } = rows[index] as { id: string | number }
      ids[`${id}`] = id
    }
    return ids
  }

  function readSelected(element: Element, path: string, value: unknown): unknown {
    const { selection } = element.definition
    const most = selection === 'none' ? 0 : selection === 'single' ? 1 : MOST_ROWS
    const { list, length } = listOf(path, value, most, 'ids')
    const ids = idsOf(element.state.rows as Row[])
    const found = api.list<string | number>()
    for (let index = 0; index < length; index++) {
      const id = list[index]
      const known = isKey(id) ? ids[`${id}`] : undefined
      if (known === undefined) return fail(`${path}[${index}]`, 'the id of a row in the table', id)
      found[index] = known
    }
    return safe.freeze(safe.toArray(found))
  }

  return { readOptions, readRows, readSelected, frozenRows, frozenList, idsOf }
}
