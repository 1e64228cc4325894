import { expect, test } from 'vitest'
import { retryTime } from '../../../host/jobs/run-job.ts'

test('jobs: the time until the next attempt grows to 6 hours, and varies by a tenth', () => {
  const middle = () => 0.5
  expect([1, 2, 3, 4, 5, 6, 7].map((attempt) => retryTime(attempt, middle) / 1000)).toEqual([
    30, 120, 480, 1920, 7680, 21_600, 21_600,
  ])
  expect([retryTime(1, () => 0), retryTime(1, () => 1)]).toEqual([27_000, 33_000])
})
