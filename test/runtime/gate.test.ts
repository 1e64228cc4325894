import { expect, test, vi } from 'vitest'
import { createGate } from '../../runtime/gate.ts'

test('gate: a limited number of callers enter at the same time, and the others follow in order of arrival', async () => {
  const gate = createGate(2)
  const entered: number[] = []
  const all = [1, 2, 3, 4].map(async (number) => {
    await gate.enter()
    entered.push(number)
  })
  await Promise.all(all.slice(0, 2))
  expect(entered).toEqual([1, 2])
  gate.leave()
  await all[2]
  expect(entered).toEqual([1, 2, 3])
  gate.leave()
  await all[3]
  expect(entered).toEqual([1, 2, 3, 4])
})

test('gate: a caller that waits too long is rejected, and the next in line gets its turn', async () => {
  vi.useFakeTimers()
  const gate = createGate(1)
  expect(await gate.enter()).toBe(true)
  const impatient = gate.enter(100)
  const patient = gate.enter(1000)
  await vi.advanceTimersByTimeAsync(100)
  expect(await impatient).toBe(false)
  gate.leave()
  expect(await patient).toBe(true)
  gate.leave()
  expect(await gate.enter()).toBe(true)
  vi.useRealTimers()
})

test('gate: a forced entry counts like any other', async () => {
  const gate = createGate(1)
  gate.force()
  gate.force()
  let entered = false
  const next = gate.enter().then(() => {
    entered = true
  })
  gate.leave()
  await Promise.resolve()
  expect(entered).toBe(false)
  gate.leave()
  await next
  expect(entered).toBe(true)
})
