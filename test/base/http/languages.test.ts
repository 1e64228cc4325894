import { expect, test } from 'vitest'
import { localeOfFormats } from '../../../base/http/languages.ts'

test.each([
  ['en', 'en-GB,en;q=0.9', 'en-GB'],
  ['en', 'fr-CA,en-AU;q=0.5,en-GB;q=0.4', 'en-AU'],
  ['en', 'en', 'en'],
  ['en', '', 'en'],
  ['en', 'de-CH', 'en'],
  ['nl-BE', 'nl-NL', 'nl-BE'],
  ['de', 'DE-ch', 'DE-ch'],
])('dates and numbers in %s for "%s" are formatted as in %s', (locale, acceptLanguage, formats) => {
  expect(localeOfFormats(locale, acceptLanguage)).toBe(formats)
})
