import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLateSignOuts, SIGN_OUT_TIME } from '../../../host/clients/late-sign-outs.ts'
import type { Visitor } from '../../../host/clients/visitor.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** @param ends the outcome of each attempt to end the session, in order; later attempts succeed */
function begin(...ends: ('fails' | 'succeeds')[]) {
  const onError = vi.fn()
  const forget = vi.fn(async () => {
    if (ends.shift() === 'fails') throw new Error('the database is away')
  })
  const visitor = { solution: { name: 'crm' }, forget } as unknown as Visitor
  return { late: createLateSignOuts(onError), forget, onError, visitor }
}

test('late sign-outs: the session ends once, when the page’s time limit has passed', async () => {
  const { late, forget, visitor } = begin()
  late.add(visitor)
  late.add(visitor)
  await vi.advanceTimersByTimeAsync(SIGN_OUT_TIME - 1)
  expect(forget).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(10 * SIGN_OUT_TIME)
  expect(forget).toHaveBeenCalledTimes(1)
  await late.endAll()
  expect(forget).toHaveBeenCalledTimes(1)
})

test('late sign-outs: a host that stops ends the sessions immediately', async () => {
  const { late, forget, visitor } = begin()
  late.add(visitor)
  late.add({ ...visitor })
  await late.endAll()
  expect(forget).toHaveBeenCalledTimes(2)
  expect(vi.getTimerCount()).toBe(0)
})

test('late sign-outs: a failure is logged once and retried until it succeeds', async () => {
  const { late, forget, onError, visitor } = begin('fails', 'fails', 'succeeds')
  late.add(visitor)
  await vi.advanceTimersByTimeAsync(10 * SIGN_OUT_TIME)
  expect(forget).toHaveBeenCalledTimes(3)
  expect(onError.mock.calls).toEqual([[new Error('the database is away'), { solution: 'crm' }]])
})

test('late sign-outs: a failure while stopping is logged and not retried', async () => {
  const { late, forget, onError, visitor } = begin('fails')
  late.add(visitor)
  await late.endAll()
  expect([forget.mock.calls.length, onError.mock.calls.length, vi.getTimerCount()]).toEqual([1, 1, 0])
})
