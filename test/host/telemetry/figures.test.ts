import { expect, test } from 'vitest'
import type { CallEnd } from '../../../host/solutions/call-end.ts'
import { createFigures, type Gauges } from '../../../host/telemetry/figures.ts'

/** A time at the start of an hour. */
const START = 1_700_000_000_000 - (1_700_000_000_000 % 3_600_000)

function end(milliseconds: number, more: Partial<CallEnd> & { code?: CallEnd['outcome']['code'] } = {}): CallEnd {
  const { code = 'returned', ...rest } = more
  return { solution: 'crm', entry: 'onSolutionOpen', outcome: { code, milliseconds }, ...rest }
}

const gauges = (more: Partial<Gauges> = {}): Gauges => {
  return { processes: 1, processMemory: 2, hostMemory: 3, clients: 4, ...more }
}

function clocked() {
  const clock = { time: START }
  return { clock, figures: createFigures(() => clock.time) }
}

const NONE = { count: 0, failed: 0, p50: null, p95: null, largest: 0 }

test('metrics history: the last point is the current one, and there are no gaps', () => {
  const { clock, figures } = clocked()
  figures.called(end(10))
  clock.time += 25_000
  figures.called(end(10))
  const points = figures.points('recent')
  expect(points).toHaveLength(720)
  expect(points.slice(-3).map(({ at, calls }) => [at - START, calls.count])).toEqual([
    [0, 1],
    [10_000, 0],
    [20_000, 1],
  ])
  expect(points.at(-2)).toEqual({ at: START + 10_000, calls: NONE, gauges: null })
})

test('metrics history: a day has a point per minute, and older points are dropped', () => {
  const { clock, figures } = clocked()
  figures.called(end(10))
  clock.time += 1439 * 60_000
  expect(figures.points('day')[0]).toMatchObject({ at: START, calls: { count: 1 } })
  expect(figures.points('recent').every(({ calls }) => calls.count === 0)).toBe(true)
  clock.time += 60_000
  expect(figures.points('day').every(({ calls }) => calls.count === 0)).toBe(true)
})

test('metrics history: if the clock is set back, only points are lost', () => {
  const { clock, figures } = clocked()
  figures.called(end(10))
  clock.time -= 3_600_000
  figures.called(end(10))
  expect(figures.points('recent').at(-1)).toMatchObject({ calls: { count: 1 } })
  expect(figures.points('recent')).toHaveLength(720)
})

test('metrics history: failures are counted, except for calls that got no process', () => {
  const { figures } = clocked()
  figures.called(end(10, { code: 'script_timeout' }))
  figures.called(end(0, { code: 'sandbox_busy' }))
  figures.called(end(10))
  expect(figures.points('recent').at(-1)?.calls).toMatchObject({ count: 2, failed: 1 })
})

test('metrics history: a point of a gauge has its largest value', () => {
  const { figures } = clocked()
  figures.looked(gauges({ processes: 7, clients: 1 }))
  figures.looked(gauges({ hostMemory: 9 }))
  expect(figures.points('day').at(-1)?.gauges).toEqual({ processes: 7, processMemory: 2, hostMemory: 9, clients: 4 })
})

test('metrics history: entries are separated by solution and name, and those that took the most time come first', () => {
  const { clock, figures } = clocked()
  figures.called(end(1))
  figures.called(end(1, { solution: 'shop' }))
  figures.called(end(500, { entry: 'forms.orders.search.onAction' }))
  clock.time += 2 * 3_600_000
  figures.called(end(2))
  expect(figures.entries(1).map(({ solution, entry, count }) => [solution, entry, count])).toEqual([
    ['crm', 'onSolutionOpen', 1],
  ])
  expect(figures.entries(3).map(({ solution, entry, count }) => [solution, entry, count])).toEqual([
    ['crm', 'forms.orders.search.onAction', 1],
    ['crm', 'onSolutionOpen', 2],
    ['shop', 'onSolutionOpen', 1],
  ])
})

test('metrics history: two hundred of ten thousand entry names are stored, and the rest are combined', () => {
  const { figures } = clocked()
  for (let n = 0; n < 10_000; n++) figures.called(end(1, { entry: `e${n}` }))
  const entries = figures.entries(1)
  expect(entries).toHaveLength(200)
  expect(entries[0]).toMatchObject({ solution: '', entry: 'others', count: 9800 })
})
