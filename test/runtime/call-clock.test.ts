import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createCallClock } from '../../runtime/call-clock.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('call clock: before the call starts no time has passed, and the whole limit is left', () => {
  const clock = createCallClock(1000)
  vi.advanceTimersByTime(300)
  expect([clock.startedAt(), clock.elapsed(), clock.left(), clock.waited()]).toEqual([null, 0, 1000, 0])
})

test('call clock: while it is stopped, time does not count towards the limit', () => {
  const clock = createCallClock(1000)
  clock.begin()
  vi.advanceTimersByTime(300)
  clock.stop()
  vi.advanceTimersByTime(5000)
  expect([clock.elapsed(), clock.left(), clock.waited()]).toEqual([5300, 700, 5000])
  expect(clock.run()).toBe(700)
  vi.advanceTimersByTime(100)
  expect([clock.elapsed(), clock.left(), clock.waited()]).toEqual([5400, 600, 5000])
})

test('call clock: stopping or starting it twice changes nothing', () => {
  const clock = createCallClock(1000)
  clock.begin()
  vi.advanceTimersByTime(100)
  clock.run()
  vi.advanceTimersByTime(100)
  clock.stop()
  vi.advanceTimersByTime(100)
  clock.stop()
  expect([clock.left(), clock.waited()]).toEqual([800, 100])
})

test('call clock: the timer for the remaining time is at least 1 ms, although the remaining time can be negative', () => {
  const clock = createCallClock(1000)
  clock.begin()
  vi.advanceTimersByTime(1500)
  expect([clock.run(), clock.left()]).toEqual([1, -500])
})

test('call clock: an alarm fires once; a later one replaces it, and begin, stop and cancel remove it', () => {
  const rung: string[] = []
  const clock = createCallClock(1000)
  clock.alarm(10, () => rung.push('replaced'))
  clock.alarm(20, () => rung.push('rings'))
  expect(clock.hasAlarm()).toBe(true)
  vi.advanceTimersByTime(100)
  expect(clock.hasAlarm()).toBe(false)
  for (const takeBack of [clock.begin, clock.stop, clock.cancelAlarm]) {
    clock.alarm(10, () => rung.push('taken back'))
    takeBack()
    vi.advanceTimersByTime(100)
  }
  expect(rung).toEqual(['rings'])
})

test('call clock: it uses the given clock', () => {
  let time = 7
  const clock = createCallClock(100, () => time)
  clock.begin()
  time = 30
  expect([clock.startedAt(), clock.elapsed(), clock.left()]).toEqual([7, 23, 77])
})
