import { expect, test } from 'vitest'
import { dayFirst, durationText, timeFormat } from '../../../base/web/time-format.ts'

/** A date whose day and month are easily confused. The time is in the morning, in UTC. */
const TIME = Date.UTC(2026, 2, 4, 7, 5, 9)

test.each([
  ['en', '4 Mar 2026, 07:05'],
  ['en-US', '4 Mar 2026, 07:05'],
  ['nl', '4 mrt 2026, 07:05'],
  ['de', '4. März 2026, 07:05'],
  ['fr', '4 mars 2026, 07:05'],
  ['es', '4 mar 2026, 07:05'],
])('times in %s name the month and use the 24-hour clock', (locale, shown) => {
  expect(timeFormat(locale).format(TIME)).toBe(shown)
  expect(timeFormat(locale, 'second').format(TIME)).toBe(`${shown}:09`)
})

test.each([
  ['en', ['1 hour', '24 hours', '7 days']],
  ['nl', ['1 uur', '24 uur', '7 dagen']],
  ['de', ['1 Stunde', '24 Stunden', '7 Tage']],
  ['fr', ['1 heure', '24 heures', '7 jours']],
  ['es', ['1 hora', '24 horas', '7 días']],
] as const)('durations in %s longer than one day are in days', (locale, shown) => {
  const durations = [1, 24, 7 * 24].map((hours) => durationText(locale, hours * 3_600_000))
  expect(durations.map((text) => text.replace(/\s/g, ' '))).toEqual(shown)
})

test('a minute after midnight is 00:01, not 24:01', () => {
  expect(timeFormat('en').format(Date.UTC(2026, 10, 22, 0, 1))).toBe('22 Nov 2026, 00:01')
})

test('a language tag that merely begins with "en" is not English', () => {
  expect([dayFirst('en'), dayFirst('en-AU'), dayFirst('enm')]).toEqual(['en-GB', 'en-GB', 'enm'])
})
