import { expect, test } from 'vitest'
import { createQuarantine } from '../../runtime/quarantine.ts'

function clocked() {
  let time = 1_000_000
  return { quarantine: createQuarantine(() => time), after: (ms: number) => (time += ms), at: () => time }
}

test('quarantine: three kills within 60 s pause only that version, for 5 s', () => {
  const { quarantine, after, at } = clocked()
  expect(quarantine.killed('a')).toBeNull()
  after(20_000)
  expect(quarantine.killed('a')).toBeNull()
  after(20_000)
  expect(quarantine.killed('a')).toBe(at() + 5_000)
  expect(quarantine.retryAt('a')).toBe(at() + 5_000)
  expect(quarantine.retryAt('b')).toBeNull()
  after(5_000)
  expect(quarantine.retryAt('a')).toBeNull()
})

test('quarantine: three kills in more than 60 s cause no pause', () => {
  const { quarantine, after } = clocked()
  for (let kill = 0; kill < 5; kill++) {
    expect(quarantine.killed('a')).toBeNull()
    after(30_001)
  }
})

test('quarantine: one kill is enough for another pause, and pauses double up to five minutes', () => {
  const { quarantine, after, at } = clocked()
  quarantine.killed('a')
  quarantine.killed('a')
  const pauses: number[] = []
  for (let round = 0; round < 9; round++) {
    const until = quarantine.killed('a') ?? 0
    pauses.push(until - at())
    after(until - at())
  }
  expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300].map((seconds) => seconds * 1000))
})

test('quarantine: ten minutes without a kill reset the count and the length of pauses', () => {
  const { quarantine, after } = clocked()
  for (let kill = 0; kill < 3; kill++) quarantine.killed('a')
  after(600_001)
  quarantine.sweep()
  expect(quarantine.killed('a')).toBeNull()
})
