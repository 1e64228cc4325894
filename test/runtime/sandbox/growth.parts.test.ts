import { expect, test } from 'vitest'
import { residentSize } from '../../../runtime/process-memory.ts'
import { mixedCalls, mixedCallsLab, servingPid } from '../../support/mixed-calls.ts'

const MEGABYTE = 1024 ** 2

/**
 * Makes the calls, and returns the process's smallest resident size during them. Larger sizes include garbage that has
 * not been collected yet.
 */
async function floorDuring(lab: ReturnType<typeof mixedCallsLab>, calls: number): Promise<number> {
  let floor = Number.POSITIVE_INFINITY
  for (let done = 0; done < calls; done += 50) {
    await mixedCalls(lab, 50)
    floor = Math.min(floor, residentSize(servingPid(lab)))
  }
  return floor
}

// A leaked context would use 0.23 MB. `npm run long -- growth` repeats this test with ten times as many calls and a
// tighter limit.
test('one sandbox process answers 1,500 calls of all kinds and retains none of their contexts', async () => {
  const lab = mixedCallsLab()
  try {
    await mixedCalls(lab, 500)
    const pid = servingPid(lab)
    const before = await floorDuring(lab, 500)
    const after = await floorDuring(lab, 500)
    expect(servingPid(lab)).toBe(pid)
    expect((after - before) / MEGABYTE).toBeLessThan(20)
  } finally {
    lab.stop()
  }
})
