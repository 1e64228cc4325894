import { expect, test } from 'vitest'
import { readSettings } from '../../../host/config/settings.ts'

test('settings: a host stops without waiting unless DRAIN_TIME is set', () => {
  expect(readSettings({}).drainTime).toBe(0)
  expect(readSettings({ DRAIN_TIME: '15s' }).drainTime).toBe(15_000)
  expect(readSettings({ DRAIN_TIME: '10m' }).drainTime).toBe(600_000)
})

test.each(['10', '-1s', '11m', 'long', ''])('settings: DRAIN_TIME with the value "%s" prevents startup', (text) => {
  expect(() => readSettings({ DRAIN_TIME: text })).toThrow(
    `DRAIN_TIME must be a time such as 10s, at most 10m, but is "${text}"`,
  )
})
