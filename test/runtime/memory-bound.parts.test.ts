import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { createMemoryBound, NEW_PROCESS, ownChildren } from '../../runtime/memory-bound.ts'
import type { LimitedGroup } from '../../runtime/memory-cgroup.ts'

const MEGABYTE = 1024 ** 2

/** Sizes by process id, in MB; the host holds 100 alone and 40 that all share. */
function boundOf({
  configured = 1000,
  groups = [],
  sizes = {},
  heap = { used: 10, limit: 100 },
}: {
  configured?: number
  groups?: readonly LimitedGroup[]
  sizes?: Record<number, number>
  heap?: { used: number; limit: number }
}) {
  const bound = createMemoryBound({
    configured: configured * MEGABYTE,
    groups: () => groups.map(({ limit, used }) => ({ limit: limit * MEGABYTE, used: used * MEGABYTE })),
    memory: (pid) => ({
      own: (pid === process.pid ? 100 : (sizes[pid] ?? 0)) * MEGABYTE,
      shared: (pid === process.pid ? 40 : 30) * MEGABYTE,
    }),
    children: () => [1, 2],
    heap: () => heap,
  })
  return {
    isHeapFull: bound.isHeapFull,
    measure: (known: number[], begun: number[] = [], leaving: number[] = []) => {
      const { maximum, configured: asked, groupLimit, used } = bound.measure({ known, begun, leaving })
      return [maximum, asked, groupLimit ?? Number.NaN, used].map((bytes) => Math.round(bytes / MEGABYTE))
    },
  }
}

test('memory bound: host, sandbox processes and all other children, what they share once', () => {
  const { measure } = boundOf({ sizes: { 1: 50, 2: 7, 3: 20 } })
  // Process 1 is a child that the pool knows, 2 one of a database, 3 one that the system did not tell.
  expect(measure([1, 3])).toEqual([1000, 1000, Number.NaN, 100 + 50 + 7 + 20 + 40])
})

test('memory bound: a process that begins counts as what it will hold, one that leaves not at all', () => {
  const { measure } = boundOf({ sizes: { 1: 5, 2: 300 } })
  expect(measure([], [1], [2])[3]).toBe(100 + NEW_PROCESS / MEGABYTE + 40)
})

test('memory bound: of a control group’s limit a sixteenth is left free, 32 MB at least', () => {
  expect(boundOf({ groups: [{ limit: 320, used: 0 }] }).measure([])).toEqual([288, 1000, 320, 140])
  expect(boundOf({ groups: [{ limit: 800, used: 0 }] }).measure([])).toEqual([750, 1000, 800, 140])
  expect(boundOf({ groups: [{ limit: 4000, used: 0 }] }).measure([])).toEqual([1000, 1000, 4000, 140])
})

test('memory bound: where the control group counts more than the processes, its count is used', () => {
  expect(boundOf({ groups: [{ limit: 800, used: 500 }] }).measure([])).toEqual([750, 1000, 800, 500])
  // 120 MB of it go with the process that was killed, and one that begins will grow by 14.
  const { measure } = boundOf({ groups: [{ limit: 800, used: 500 }], sizes: { 1: 10, 2: 120 } })
  expect(measure([], [1], [2])[3]).toBe(500 + 14 - 120)
})

test('memory bound: others in a parent group take from what it leaves to the host', () => {
  const groups = [
    { limit: 800, used: 300 },
    { limit: 1600, used: 1450 },
  ]
  // The parent leaves 1500 - 1450 = 50 MB, so of the 750 in force 700 are used.
  expect(boundOf({ groups }).measure([])).toEqual([750, 1000, 800, 700])
})

test('memory bound: without RUNTIME_XMX a control group’s limit holds all the same', () => {
  const unlimited = createMemoryBound({ configured: Number.POSITIVE_INFINITY, groups: () => [] })
  const { maximum, used } = unlimited.measure({ known: [], begun: [], leaving: [] })
  expect([maximum, Number.isFinite(used)]).toEqual([Number.POSITIVE_INFINITY, true])
  expect(boundOf({ configured: Number.POSITIVE_INFINITY, groups: [{ limit: 800, used: 1 }] }).measure([])[0]).toBe(750)
})

test('memory bound: nine tenths of the host’s own heap are full', () => {
  expect([89, 91].map((used) => boundOf({ heap: { used, limit: 100 } }).isHeapFull())).toEqual([false, true])
})

test('memory bound: the system tells all children of this process', async () => {
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  try {
    // Workers of the test runner may be threads, whose children are not the main thread’s.
    if (ownChildren().length > 0) expect(ownChildren()).toContain(child.pid)
  } finally {
    child.kill('SIGKILL')
  }
})
