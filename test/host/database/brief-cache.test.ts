import { expect, test } from 'vitest'
import { createBriefCache } from '../../../host/database/brief-cache.ts'

function counted() {
  let time = 5000
  let readings = 0
  const cache = createBriefCache(
    async (key) => `${key}${++readings}`,
    () => time,
  )
  return { cache, after: (ms: number) => (time += ms) }
}

test('short-lived cache: a value is cached for one second after it was read', async () => {
  const { cache, after } = counted()
  expect(await cache.get('a')).toBe('a1')
  after(999)
  expect(await cache.get('a')).toBe('a1')
  after(1)
  expect(await cache.get('a')).toBe('a2')
})

test('short-lived cache: if the clock is set back, the value is read again', async () => {
  const { cache, after } = counted()
  expect(await cache.get('a')).toBe('a1')
  after(-3000)
  expect(cache.cached('a')).toBeUndefined()
  expect(await cache.get('a')).toBe('a2')
})

test('short-lived cache: simultaneous callers share one read', async () => {
  const { cache } = counted()
  expect(await Promise.all([cache.get('a'), cache.get('a'), cache.get('b')])).toEqual(['a1', 'a1', 'b2'])
})

test('short-lived cache: an invalidated value is read again, even while the earlier read is running', async () => {
  const { cache } = counted()
  const old = cache.get('a')
  cache.forget('a')
  expect(await cache.get('a')).toBe('a2')
  expect(await old).toBe('a1')
  expect(await cache.get('a')).toBe('a2')
})

test('short-lived cache: a failed read is not cached', async () => {
  let fails = true
  const cache = createBriefCache(async () => {
    if (fails) throw new Error('away')
    return 'back'
  })
  await expect(cache.get('a')).rejects.toThrow('away')
  fails = false
  expect(await cache.get('a')).toBe('back')
})

test('short-lived cache: `cached` returns a value only after it was read, and until it expires', async () => {
  const { cache, after } = counted()
  expect(cache.cached('a')).toBeUndefined()
  const reading = cache.get('a')
  expect(cache.cached('a')).toBeUndefined()
  await reading
  expect([cache.cached('a'), cache.cached('b')]).toEqual(['a1', undefined])
  after(1000)
  expect(cache.cached('a')).toBeUndefined()
})
