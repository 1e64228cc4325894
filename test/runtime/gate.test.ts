import { expect, test, vi } from 'vitest'
import { createGate, createGates } from '../../runtime/gate.ts'

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

test('gates: each key has its own places', async () => {
  const inTurn = createGates(1, 2)
  const { promise, resolve } = Promise.withResolvers<string>()
  const first = inTurn('a', 0, () => promise, String)
  expect(await inTurn('a', 0, async () => 'second', String)).toBe('late')
  expect(await inTurn('b', 0, async () => 'other', String)).toBe('other')
  resolve('first')
  expect(await first).toBe('first')
})

test('gates: a key with the most callers refuses further ones immediately', async () => {
  const inTurn = createGates(1, 2)
  const { promise, resolve } = Promise.withResolvers<string>()
  const first = inTurn('a', 60_000, () => promise, String)
  const second = inTurn('a', 60_000, async () => 'second', String)
  expect(await inTurn('a', 60_000, async () => 'third', String)).toBe('full')
  resolve('first')
  expect(await Promise.all([first, second])).toEqual(['first', 'second'])
})

test('gates: work that throws leaves its place', async () => {
  const inTurn = createGates(1, 1)
  const failing = () => {
    throw new Error('no')
  }
  await expect(inTurn('a', 0, failing, String)).rejects.toThrow('no')
  await expect(inTurn('a', 0, () => Promise.reject(new Error('no')), String)).rejects.toThrow('no')
  expect(await inTurn('a', 0, async () => 'next', String)).toBe('next')
})
