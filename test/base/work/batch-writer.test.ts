import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createBatchWriter } from '../../../base/work/batch-writer.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('batch writer: while a batch is written, no other one starts; then one more writes everything that was queued', async () => {
  const ends: (() => void)[] = []
  const writer = createBatchWriter(() => new Promise((resolve) => void ends.push(resolve)))
  for (let time = 0; time < 1000; time += 50) {
    writer.wake()
    await vi.advanceTimersByTimeAsync(50)
  }
  expect(ends).toHaveLength(1)
  const flushed = writer.flush()
  ends[0]?.()
  await vi.advanceTimersByTimeAsync(0)
  expect(ends).toHaveLength(2)
  ends[1]?.()
  await flushed
  await vi.advanceTimersByTimeAsync(5000)
  expect(ends).toHaveLength(2)
})

test('batch writer: after an error, it tries again after a second', async () => {
  let calls = 0
  const writer = createBatchWriter(async () => {
    calls++
    if (calls < 3) throw new Error('the database is down')
  })
  writer.wake()
  await vi.advanceTimersByTimeAsync(50)
  writer.wake()
  await vi.advanceTimersByTimeAsync(999)
  expect(calls).toBe(1)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(calls).toBe(3)
})
