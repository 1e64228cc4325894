import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { repeat } from '../../../base/work/repeat.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('repeat: work that takes longer than its interval never runs twice at the same time', async () => {
  const under = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let begun = 0
  const stop = repeat(1000, () => under[begun++]?.promise)
  await vi.advanceTimersByTimeAsync(3000)
  expect(begun).toBe(1)
  under[0]?.resolve()
  await vi.advanceTimersByTimeAsync(1000)
  expect(begun).toBe(2)
  under[1]?.resolve()
  await stop()
})

test('repeat: errors, including synchronous ones, are reported, and the work continues', async () => {
  const errors: string[] = []
  const work = vi.fn(() => {
    throw new Error('away')
  })
  const stop = repeat(1000, work, ({ message }) => errors.push(message))
  await vi.advanceTimersByTimeAsync(2000)
  expect(errors).toEqual(['away', 'away'])
  await stop()
})

test('repeat: stopping waits for the running work, and nothing starts afterwards', async () => {
  const work = Promise.withResolvers<void>()
  let begun = 0
  let isOver = false
  const stop = repeat(1000, () => {
    begun++
    return work.promise
  })
  await vi.advanceTimersByTimeAsync(1000)
  const over = stop().then(() => {
    isOver = true
  })
  await vi.advanceTimersByTimeAsync(5000)
  expect([begun, isOver]).toEqual([1, false])
  work.resolve()
  await over
  expect(begun).toBe(1)
})
