import { expect, test } from 'vitest'
import { cachedByText, recentByText } from '../../../base/program/by-text.ts'

test('a result is computed once for each text, even if it is undefined, until the cache is full', () => {
  const asked: string[] = []
  const lengthOf = cachedByText(2, (text) => {
    asked.push(text)
    return text === '' ? undefined : text.length
  })
  expect(['', 'a', '', 'a', 'bb', 'a'].map(lengthOf)).toEqual([undefined, 1, undefined, 1, 2, 1])
  expect(asked).toEqual(['', 'a', 'bb', 'a'])
})

test('results for long texts are not cached', () => {
  let count = 0
  const lengthOf = cachedByText(2, (text) => {
    count++
    return text.length
  })
  for (let n = 0; n < 3; n++) expect(lengthOf('x'.repeat(301))).toBe(301)
  expect(count).toBe(3)
})

test('recentByText: the least recently used text is evicted', () => {
  const created: string[] = []
  const of = recentByText(2, (text) => {
    created.push(text)
    return { text }
  })
  const a = of('a')
  of('b')
  expect(of('a')).toBe(a)
  of('c')
  expect(of('a')).toBe(a)
  expect(of('b')).toEqual({ text: 'b' })
  expect(created).toEqual(['a', 'b', 'c', 'b'])
})
