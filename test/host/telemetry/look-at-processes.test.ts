import { expect, test, vi } from 'vitest'
import { keepLooking, lookAtProcesses } from '../../../host/telemetry/look-at-processes.ts'

const MEMORY: Readonly<Record<number, { own: number; shared: number }>> = {
  1: { own: 1000, shared: 700 },
  2: { own: 20, shared: 300 },
  3: { own: 4, shared: 350 },
}
const memoryOf = (pid: number) => MEMORY[pid] ?? { own: 0, shared: 0 }

test('processes: shared memory is counted once, and clients are summed', () => {
  const seen = lookAtProcesses(
    [
      { pid: 2, key: 'crm@abc', calls: 3, clients: 5 },
      { pid: 3, key: null, calls: 0 },
    ],
    memoryOf,
    1,
  )
  expect(seen).toEqual({
    list: [
      { pid: 2, solution: 'crm', calls: 3, clients: 5, memory: 20 },
      { pid: 3, solution: null, calls: 0, clients: null, memory: 4 },
    ],
    processes: 2,
    processMemory: 374,
    hostMemory: 1700,
    clients: 5,
  })
})

test('processes: they are measured immediately, then every ten seconds until stopped', async () => {
  vi.useFakeTimers()
  try {
    const looked = vi.fn()
    const stop = keepLooking({ looked }, { processes: () => [] })
    expect(looked).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(looked).toHaveBeenCalledTimes(3)
    stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(looked).toHaveBeenCalledTimes(3)
  } finally {
    vi.useRealTimers()
  }
})
