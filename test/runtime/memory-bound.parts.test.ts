import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { createMemoryBound, NEW_PROCESS, ownChildren } from '../../runtime/memory-bound.ts'
import type { LimitedGroup } from '../../runtime/memory-cgroup.ts'

const MEGABYTE = 1024 ** 2

/**
 * Creates a memory bound with simulated processes. `sizes` maps process ids to private memory in MB. The host has 100
 * MB of private memory and 40 MB of shared memory.
 */
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

test('memory bound: it includes the host, sandbox processes and all other children, and counts shared memory once', () => {
  const { measure } = boundOf({ sizes: { 1: 50, 2: 7, 3: 20 } })
  // Process 1 is in the pool. Process 2 is a child outside the pool. The system's list of children lacks process 3.
  expect(measure([1, 3])).toEqual([1000, 1000, Number.NaN, 100 + 50 + 7 + 20 + 40])
})

test('memory bound: a starting process counts with its expected size, and an ending one does not count', () => {
  const { measure } = boundOf({ sizes: { 1: 5, 2: 300 } })
  expect(measure([], [1], [2])[3]).toBe(100 + NEW_PROCESS / MEGABYTE + 40)
})

test('memory bound: a sixteenth of a cgroup’s limit is kept free, and at least 32 MB', () => {
  expect(boundOf({ groups: [{ limit: 320, used: 0 }] }).measure([])).toEqual([288, 1000, 320, 140])
  expect(boundOf({ groups: [{ limit: 800, used: 0 }] }).measure([])).toEqual([750, 1000, 800, 140])
  expect(boundOf({ groups: [{ limit: 4000, used: 0 }] }).measure([])).toEqual([1000, 1000, 4000, 140])
})

test('memory bound: if the cgroup reports more than the processes, its number is used', () => {
  expect(boundOf({ groups: [{ limit: 800, used: 500 }] }).measure([])).toEqual([750, 1000, 800, 500])
  // Of the 500 MB in use, the process being killed will free 120 MB. The starting process will need 14 MB more.
  const { measure } = boundOf({ groups: [{ limit: 800, used: 500 }], sizes: { 1: 10, 2: 120 } })
  expect(measure([], [1], [2])[3]).toBe(500 + 14 - 120)
})

test('memory bound: other processes in a parent group reduce what is left for the host', () => {
  const groups = [
    { limit: 800, used: 300 },
    { limit: 1600, used: 1450 },
  ]
  // The parent group has 1500 - 1450 = 50 MB left. Of the group's own 750 MB, only 50 MB can still be used.
  expect(boundOf({ groups }).measure([])).toEqual([750, 1000, 800, 700])
})

test('memory bound: without RUNTIME_XMX, a cgroup’s limit still applies', () => {
  const unlimited = createMemoryBound({ configured: Number.POSITIVE_INFINITY, groups: () => [] })
  const { maximum, used } = unlimited.measure({ known: [], begun: [], leaving: [] })
  expect([maximum, Number.isFinite(used)]).toEqual([Number.POSITIVE_INFINITY, true])
  expect(boundOf({ configured: Number.POSITIVE_INFINITY, groups: [{ limit: 800, used: 1 }] }).measure([])[0]).toBe(750)
})

test('memory bound: the host’s own heap counts as full at nine tenths', () => {
  expect([89, 91].map((used) => boundOf({ heap: { used, limit: 100 } }).isHeapFull())).toEqual([false, true])
})

test('memory bound: the system reports all children of this process', async () => {
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  try {
    // Only the main thread's children are listed. If the test runner's workers are threads, that list is empty.
    if (ownChildren().length > 0) expect(ownChildren()).toContain(child.pid)
  } finally {
    child.kill('SIGKILL')
  }
})
