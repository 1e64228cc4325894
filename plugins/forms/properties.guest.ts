import type { Checks } from './checks.guest.ts'
import type { Lists } from './lists.guest.ts'
import type { Api, Element, ElementDefinition, Option } from './types.guest.ts'

const MOST_PAGES = 1_000_000
/** The path of a file in `media/`. */
const SOURCE = /^(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)*$/
/** Element types with a text value. */
export const TEXTS: { readonly __proto__: null; readonly [type: string]: 1 | null } = {
  __proto__: null,
  text: 1,
  password: 1,
  email: 1,
  textarea: 1,
}

export type Properties = ReturnType<typeof createProperties>

/** Validates the value that a script sets for an element's property. */
export function createProperties(api: Api, { fail, readText, isKey, isDay }: Checks, lists: Lists) {
  const { safe } = api
  const { readOptions, readRows, readSelected } = lists

  function readProperty(element: Element, key: string, value: unknown): unknown {
    const path = `${element.path}.${key}`
    switch (key) {
      case 'visible':
      case 'enabled':
      case 'required':
        return typeof value === 'boolean' ? value : fail(path, 'true or false', value)
      case 'value':
        return readValue(element, path, value)
      case 'options':
        return readOptions(path, value)
      case 'rows':
        return readRows(element.definition, path, value)
      case 'selected':
        return readSelected(element, path, value)
      case 'sort':
        return readSort(element.definition, path, value)
      case 'page':
        return isWhole(value, MOST_PAGES) ? value : fail(path, `a whole number from 1 to ${MOST_PAGES}`, value)
      case 'href':
        if (typeof value === 'string' && api.isAllowedAddress(value)) return value
        return fail(path, 'an http, https or mailto URL or a path that starts with "/"', value)
      case 'src':
        if (typeof value === 'string' && value.length <= 240 && safe.match(SOURCE, value) !== null) return value
        return fail(path, 'a path below media/ such as "logo.svg"', value)
      default:
        return readText(path, value, 2000, false)
    }
  }

  function readValue(element: Element, path: string, value: unknown): unknown {
    const { type, maxLength, tabs } = element.definition
    if (TEXTS[type] === 1) return readText(path, value, maxLength, type === 'textarea', type === 'password')
    if (type === 'checkbox') return typeof value === 'boolean' ? value : fail(path, 'true or false', value)
    if (type === 'tabs') {
      for (let index = 0; index < tabs.length; index++) if (tabs[index] === value) return value
      return fail(path, 'the name of one of the tabs', value)
    }
    if (value === null || value === undefined) return null
    if (type === 'number')
      return typeof value === 'number' && safe.isFinite(value) ? value : fail(path, 'a number or null', value)
    if (type === 'date') return isDay(value) ? value : fail(path, 'a date in the format YYYY-MM-DD or null', value)
    const options = element.state.options as Option[]
    if (isKey(value)) {
      for (let index = 0; index < options.length; index++) {
        const { value: known } = options[index] as Option
        if (`${known}` === `${value}`) return known
      }
    }
    return fail(path, 'the value of one of the options or null', value)
  }

  function readSort({ columns }: ElementDefinition, path: string, value: unknown): unknown {
    if (value === null || value === undefined) return null
    if (typeof value !== 'object') return fail(path, 'null or an object with column and direction', value)
    const { column, direction } = value as { column: unknown; direction: unknown }
    if (direction !== 'ascending' && direction !== 'descending')
      return fail(`${path}.direction`, '"ascending" or "descending"', direction)
    for (let index = 0; index < columns.length; index++) {
      if ((columns[index] as { name: string }).name === column) return safe.freeze({ column, direction })
    }
    return fail(`${path}.column`, 'the name of a column', column)
  }

  return { readProperty, readValue }
}

function isWhole(value: unknown, most: number): boolean {
  return typeof value === 'number' && value >= 1 && value <= most && value % 1 === 0
}
