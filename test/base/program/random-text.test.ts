import { expect, test } from 'vitest'
import { randomLetters, randomText } from '../../../base/program/random-text.ts'

test('random texts have the requested number of bytes, and none is repeated, even across pools', () => {
  const texts = Array.from({ length: 2000 }, (_, n) => randomText(18 + (n % 3) * 7))
  expect(texts.map((text) => Buffer.from(text, 'base64url').length)).toEqual(texts.map((_, n) => 18 + (n % 3) * 7))
  // No two texts have the same six bytes at any of these positions, so no bytes of the pool were used twice.
  for (const part of [0, 8, 16]) expect(new Set(texts.map((text) => text.slice(part, part + 8))).size).toBe(2000)
  expect(randomText(4096)).not.toMatch(/A{20}/)
})

test('random letters include each letter of the alphabet, and no two texts are equal, even across pools', () => {
  const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  const texts = Array.from({ length: 2000 }, () => randomLetters(10, alphabet))
  expect(texts.every((text) => text.length === 10)).toBe(true)
  expect([...new Set(texts.join(''))].sort().join('')).toBe(alphabet)
  expect(new Set(texts).size).toBe(2000)
})
