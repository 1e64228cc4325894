import { expect, test } from 'vitest'
import { createFromGuest, createLookUp, parsedOnDemand } from '../../../runtime/sandbox/guest-questions.ts'

test('lookups: a solution’s own table is used in place of a shared one with the same name; shared tables are parsed on demand', () => {
  const shared = parsedOnDemand({
    'i18n nl': '{"hello":"shared"}',
    'i18n platform nl': '{"hello":"Hallo","__proto__":"text"}',
    'i18n unused': 'this is not JSON',
  })
  const ask = createFromGuest({
    files: new Set(),
    lookUp: createLookUp({ i18n: { nl: { bye: 'Dag' } } }, shared),
    contextOf: () => ({}),
    log: () => {},
    request: () => {},
    done: () => {},
  })
  const lookUp = (table: string, key: unknown) => ask(1, 'look', table, key)
  expect(lookUp('i18n nl', 'bye')).toBe('Dag')
  expect(lookUp('i18n nl', 'hello')).toBeNull()
  expect(lookUp('i18n platform nl', 'hello')).toBe('Hallo')
  expect(lookUp('i18n platform nl', '__proto__')).toBe('text')
  expect(lookUp('i18n platform nl', 'constructor')).toBeNull()
  expect(lookUp('i18n platform nl', 1)).toBeNull()
  expect(lookUp('constructor', 'name')).toBeNull()
  // A table that nobody looks up is never parsed.
  expect(lookUp('i18n unused', 'hello')).toBe(false)
})
