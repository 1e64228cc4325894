import { expect, test } from 'vitest'
import { createFairQueue } from '../../control-center/telemetry/fair-queue.ts'
import { createShares } from '../../control-center/telemetry/shares.ts'

const owner = (id: string, organisation: string) => ({ id, organisation })

test('shares: neither one environment nor one organisation can use up the shared capacity', () => {
  const shares = createShares({ environment: 20, organisation: 30, all: 50 })
  shares.count(owner('a', 'one'), 20)
  expect(() => shares.need(owner('a', 'one'), 1)).toThrow(/earlier telemetry from this environment/)
  shares.count(owner('b', 'one'), 10)
  expect(() => shares.need(owner('c', 'one'), 1)).toThrow(/earlier telemetry from this organisation/)
  shares.need(owner('d', 'two'), 20)
  shares.count(owner('d', 'two'), 20)
  expect(() => shares.need(owner('e', 'three'), 1)).toThrow(expect.objectContaining({ code: 'ERR_TELEMETRY_BUSY' }))
  shares.count(owner('a', 'one'), -20)
  shares.need(owner('c', 'one'), 20)
})

test('fair queue: the organisation that has used the least time is next, and within it the environment that has used the least', () => {
  let now = 0
  const queue = createFairQueue<{ readonly owner: ReturnType<typeof owner>; readonly name: string }>(() => now)
  const add = (name: string, id: string, organisation: string) => queue.add({ owner: owner(id, organisation), name })
  queue.used(owner('loud', 'one'), 5000)
  add('loud 1', 'loud', 'one')
  add('loud 2', 'loud', 'one')
  add('quiet', 'quiet', 'one')
  add('other', 'other', 'two')
  const next = () => queue.next()?.name
  expect([next(), next(), next(), next(), next()]).toEqual(['other', 'quiet', 'loud 1', 'loud 2', undefined])
  // Past usage counts less as time passes.
  now += 3_600_000
  add('loud 3', 'loud', 'one')
  add('other 2', 'other', 'two')
  expect([next(), next()]).toEqual(['loud 3', 'other 2'])
})

test('fair queue: an item that the filter rejects stays in the queue', () => {
  const queue = createFairQueue<{ readonly owner: ReturnType<typeof owner>; readonly size: number }>()
  queue.add({ owner: owner('a', 'one'), size: 7 })
  expect(queue.next(({ size }) => size < 5)).toBeNull()
  expect(queue.next()?.size).toBe(7)
})
