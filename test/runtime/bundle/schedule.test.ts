import { expect, test } from 'vitest'
import { createSchedule, scheduleProblem } from '../../../runtime/bundle/schedule.ts'

/** Returns the next times at which a schedule in the Brussels time zone is due. They are in UTC, without seconds. */
function dueTimes(schedule: string, from: string, count: number): string[] {
  const { next } = createSchedule(schedule, 'Europe/Brussels')
  const found: string[] = []
  for (let time = next(Date.parse(from)); time !== null && found.length < count; time = next(time)) {
    found.push(new Date(time).toISOString().slice(0, 16))
  }
  return found
}

test('schedules: a time in the hour that the clock skips is due at the end of that hour', () => {
  const due = dueTimes('30 2 * * *', '2026-03-28T00:00:00Z', 3)
  expect(due).toEqual(['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30'])
  expect(dueTimes('*/15 2 * * *', '2026-03-28T12:00:00Z', 2)).toEqual(['2026-03-29T01:00', '2026-03-30T00:00'])
})

test('schedules: a time that occurs twice is due once, the first time', () => {
  const due = dueTimes('30 2 * * *', '2026-10-24T12:00:00Z', 2)
  expect(due).toEqual(['2026-10-25T00:30', '2026-10-26T01:30'])
  const quarters = dueTimes('*/30 2 * * *', '2026-10-24T12:00:00Z', 3)
  expect(quarters).toEqual(['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-26T01:00'])
  expect(dueTimes('0 */2 * * *', '2026-10-24T21:30:00Z', 3)).toEqual([
    '2026-10-24T22:00',
    '2026-10-25T00:00',
    '2026-10-25T03:00',
  ])
})

test('schedules: the runs of a schedule with the hour "*" stay evenly spaced through both clock changes', () => {
  const spring = dueTimes('*/15 * * * *', '2026-03-29T00:30:00Z', 4)
  expect(spring).toEqual(['2026-03-29T00:45', '2026-03-29T01:00', '2026-03-29T01:15', '2026-03-29T01:30'])
  const autumn = dueTimes('*/15 * * * *', '2026-10-24T23:50:00Z', 9)
  expect(autumn).toEqual([
    '2026-10-25T00:00',
    '2026-10-25T00:15',
    '2026-10-25T00:30',
    '2026-10-25T00:45',
    '2026-10-25T01:00',
    '2026-10-25T01:15',
    '2026-10-25T01:30',
    '2026-10-25T01:45',
    '2026-10-25T02:00',
  ])
})

test('schedules: a schedule that is never due has no next time', () => {
  expect(createSchedule('0 0 30 2 *', 'Etc/UTC').next(0)).toBeNull()
})

test('schedules: the error for a malformed schedule describes the problem', () => {
  expect(scheduleProblem('60 * * * *')).toBe('Invalid value for minute: 60')
  expect(scheduleProblem('*/0 * * * *')).not.toBeNull()
  expect(scheduleProblem('5-1 * * * *')).not.toBeNull()
  expect(scheduleProblem('* * * * * *')).not.toBeNull()
  expect(scheduleProblem('0 6 * * MON-FRI')).toBeNull()
})
