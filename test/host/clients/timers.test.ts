import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createTimers } from '../../../host/clients/timers.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const later = (milliseconds: number, ...ids: number[]) => ({ later: ids.map((id) => ({ id, milliseconds })) })

function timersOf(then: (id: number) => void = () => {}) {
  const ran: number[] = []
  const timers = createTimers(
    (id) => {
      ran.push(id)
      then(id)
    },
    () => Date.now(),
  )
  return { ...timers, ran }
}

test('timers: each runs once, when it is due', () => {
  const { apply, ran } = timersOf()
  apply(later(100, 1))
  apply(later(50, 2))
  vi.advanceTimersByTime(99)
  expect(ran).toEqual([2])
  vi.advanceTimersByTime(1000)
  expect(ran).toEqual([2, 1])
})

test('timers: a cancelled or cleared timer does not run, not even if it is already queued', () => {
  const { apply, clear, ran } = timersOf()
  apply(later(0, ...Array.from({ length: 98 }, (_, index) => index)))
  vi.advanceTimersByTime(0)
  expect(ran).toHaveLength(98)
  apply(later(0, 98, 99, 100, 101, 102))
  vi.advanceTimersByTime(0)
  expect(ran).toHaveLength(100)
  apply({ cancelLater: [101] })
  vi.advanceTimersByTime(200)
  expect(ran.slice(100)).toEqual([100])
  apply(later(500, 200))
  clear()
  vi.advanceTimersByTime(10_000)
  expect(ran).toHaveLength(101)
})

test('timers: a burst of 100 timers runs, then ten per second, even if they reschedule themselves', () => {
  const { apply, ran } = timersOf((id) => apply(later(0, id)))
  apply(later(0, ...Array.from({ length: 50 }, (_, index) => index)))
  vi.advanceTimersByTime(10)
  const before = ran.length
  expect(before).toBeGreaterThanOrEqual(99)
  expect(before).toBeLessThanOrEqual(101)
  vi.advanceTimersByTime(10_000)
  expect(ran.length - before).toBeGreaterThanOrEqual(98)
  expect(ran.length - before).toBeLessThanOrEqual(102)
  // The last 50 runs belong to 50 different timers.
  expect(new Set(ran.slice(-50)).size).toBe(50)
})

test('timers: after 10 s without a timer, 100 timers may run again', () => {
  const { apply, ran } = timersOf()
  apply(later(0, ...Array.from({ length: 100 }, (_, index) => index)))
  vi.advanceTimersByTime(10_000)
  apply(later(0, ...Array.from({ length: 100 }, (_, index) => index)))
  vi.advanceTimersByTime(1)
  expect(ran).toHaveLength(200)
})

test('timers: at most 100 timers can be pending', () => {
  const { apply, ran } = timersOf()
  apply(later(1000, ...Array.from({ length: 150 }, (_, index) => index)))
  vi.advanceTimersByTime(60_000)
  expect(ran).toHaveLength(100)
})
