import { expect, test } from 'vitest'
import { groupedNumber } from '../../../host/web/grouped-number.ts'

test.each([
  ['1234.5', 'en', 2, '1,234.50'],
  ['1234.5', 'de', 2, '1.234,50'],
  ['1234567.891', 'en', 2, '1,234,567.891'],
  ['-0012', 'en', 0, '-12'],
  ['9007199254740993.1', 'en', 2, '9,007,199,254,740,993.10'],
  ['1e5', 'en', 2, ''],
  ['', 'en', 2, ''],
  ['12,5', 'en', 2, ''],
  ['NaN', 'en', 2, ''],
])('the number %j in %s, with at least %d decimals, is shown as %j', (written, locale, decimals, text) => {
  expect(groupedNumber(written, locale, decimals)).toBe(text)
})
