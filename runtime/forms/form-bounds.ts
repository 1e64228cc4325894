import {
  MAX_COLUMNS,
  MAX_ELEMENTS,
  MAX_ITEMS,
  MAX_NESTING,
  MAX_ROWS,
  MAX_TABLE_COLUMNS,
  MAX_TABS,
} from './form-definition.ts'

type Open = { readonly layout: unknown; readonly nesting: number }

/**
 * Checks the limits of a form. Call this before the schema check. The schema reports every error in every item: a file
 * of 1 MB can have hundreds of thousands.
 * @param form any JSON; the schema rejects anything that doesn't have the structure of a form
 * @returns a description of the exceeded limit, worded to follow the form's name; null if no limit is exceeded
 */
export function boundsProblem(form: unknown): string | null {
  const counts = { elements: 0, columns: 0, items: 0 }
  const open: Open[] = [{ layout: read(form, 'layout'), nesting: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { layout, nesting } = next
    if (nesting > MAX_NESTING) return `nests panels and tabs more than ${MAX_NESTING} levels deep`
    const rows = listOf(layout)
    if (rows.length > MAX_ROWS) return `has a layout with more than ${MAX_ROWS} rows`
    for (const row of rows) {
      const columns = listOf(read(row, 'columns'))
      counts.columns += columns.length
      if (counts.columns > MAX_COLUMNS) return `has more than ${MAX_COLUMNS} columns`
      for (const column of columns) {
        const elements = listOf(read(column, 'elements'))
        counts.elements += elements.length
        if (counts.elements > MAX_ELEMENTS) return `has more than ${MAX_ELEMENTS} elements`
        for (const element of elements) {
          const items = ['options', 'columns', 'value'].map((key) => listOf(read(element, key)).length)
          for (const count of items) counts.items += count
          // Ignore further columns: the schema rejects a longer list anyway.
          for (const column of listOf(read(element, 'columns')).slice(0, MAX_TABLE_COLUMNS))
            counts.items += listOf(read(column, 'badges')).length
          if (counts.items > MAX_ITEMS)
            return `has more than ${MAX_ITEMS} options, table columns, badges and table rows in total`
          const tabs = listOf(read(element, 'tabs'))
          if (tabs.length > MAX_TABS) return `has an element with more than ${MAX_TABS} tabs`
          for (const inner of [element, ...tabs]) {
            const within = read(inner, 'layout')
            if (within !== undefined) open.push({ layout: within, nesting: nesting + 1 })
          }
        }
      }
    }
  }
  return null
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function read(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined
}
