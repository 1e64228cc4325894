import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { finishesWithin, inTime } from '../../../base/program/in-time.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const late = () => new Error('too late')

test('inTime: work that finishes in time returns its value and leaves no timer', async () => {
  expect(await inTime(10, Promise.resolve('done'), late)).toBe('done')
  expect(vi.getTimerCount()).toBe(0)
})

test('inTime: the error of work that fails in time is thrown and leaves no timer', async () => {
  await expect(inTime(10, Promise.reject(new Error('no')), late)).rejects.toThrow('no')
  expect(vi.getTimerCount()).toBe(0)
})

test('inTime: when the time is over, the error of `late` is thrown; a later error of the work is ignored', async () => {
  const work = Promise.withResolvers<void>()
  const waiting = expect(inTime(10, work.promise, late)).rejects.toThrow('too late')
  await vi.advanceTimersByTimeAsync(10)
  await waiting
  // An unhandled rejection would fail the test run.
  work.reject(new Error('no'))
})

test('finishesWithin: returns true for work that finishes in time and leaves no timer', async () => {
  expect(await finishesWithin(10, Promise.resolve())).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test('finishesWithin: throws the error of work that fails in time and leaves no timer', async () => {
  await expect(finishesWithin(10, Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(vi.getTimerCount()).toBe(0)
})

test('finishesWithin: returns false when the time is over; a later error of the work is ignored', async () => {
  const work = Promise.withResolvers<void>()
  const waiting = finishesWithin(10, work.promise)
  await vi.advanceTimersByTimeAsync(10)
  expect(await waiting).toBe(false)
  work.reject(new Error('no'))
})
