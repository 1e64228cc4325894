import { expect, test } from 'vitest'
import { createPauses } from '../../../host/cloud/managed/pauses.ts'

test('pauses: each is twice as long, up to a minute, until what was asked succeeds', () => {
  const pauses = createPauses(() => 1)
  expect(Array.from({ length: 8 }, () => pauses.next())).toEqual([
    1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000,
  ])
  pauses.reset()
  expect(pauses.next()).toBe(1000)
})

test('pauses: chance takes up to half of each away, so that Satellites spread', () => {
  const pauses = createPauses(() => 0)
  expect([pauses.next(), pauses.next()]).toEqual([500, 1000])
})

test('pauses: a wrong token is shown every 5 minutes, a quarter more or less', () => {
  expect([createPauses(() => 0).barred(), createPauses(() => 1).barred()]).toEqual([225_000, 375_000])
})
