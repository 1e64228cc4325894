import { expect, test } from 'vitest'
import { createMemoryCounter } from '../../../base/accounts/memory-counter.ts'

test('a counter starts again only when its window has ended', () => {
  let time = 1000
  const counter = createMemoryCounter(100, () => time)
  expect(counter.add('a', 1)).toEqual({ points: 1, expires_at: 1100 })
  time = 1099
  expect(counter.add('a', 1)).toEqual({ points: 2, expires_at: 1100 })
  expect(counter.add('a', -1)).toEqual({ points: 1, expires_at: 1100 })
  time = 1100
  expect(counter.add('a', 1)).toEqual({ points: 1, expires_at: 1200 })
})

test('expired counters are removed while others are added, and valid ones are kept', () => {
  let time = 0
  const counter = createMemoryCounter(100, () => time)
  for (let n = 0; n < 1000; n++) counter.add(`old ${n}`, 1)
  time = 50
  counter.add('valid', 1)
  time = 100
  for (let n = 0; n < 600; n++) counter.add(`new ${n}`, 1)
  expect(counter.size()).toBe(601)
  expect(counter.add('valid', 1).points).toBe(2)
})
