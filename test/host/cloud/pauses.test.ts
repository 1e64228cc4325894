import { expect, test } from 'vitest'
import { createPauses } from '../../../host/cloud/managed/pauses.ts'

test('backoff: each delay is twice as long as the previous one, up to a minute, until a request succeeds', () => {
  const pauses = createPauses(() => 1)
  expect(Array.from({ length: 8 }, () => pauses.next())).toEqual([
    1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000,
  ])
  pauses.reset()
  expect(pauses.next()).toBe(1000)
})

test('backoff: up to half of each delay is jitter, so that Satellites don’t all retry together', () => {
  const pauses = createPauses(() => 0)
  expect([pauses.next(), pauses.next()]).toEqual([500, 1000])
})

test('backoff: if the token is wrong, the host retries every 5 minutes, plus or minus a quarter', () => {
  expect([createPauses(() => 0).barred(), createPauses(() => 1).barred()]).toEqual([225_000, 375_000])
})
