import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { createFastHmac } from '../../../base/program/hmac.ts'

test.each([
  // RFC 4231, test cases 1 and 2.
  ['0b'.repeat(20), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
  [
    Buffer.from('Jefe').toString('hex'),
    'what do ya want for nothing?',
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  ],
])('HMAC with the key %s of "%s" is that of RFC 4231', (key, text, expected) => {
  const hmac = createFastHmac(Buffer.from(key, 'hex'))
  expect(Buffer.from(hmac(text, 'latin1'), 'latin1').toString('hex')).toBe(expected)
})

test('HMACs equal those of Node.js for every length and character, in any order', () => {
  const keys = [1, 32, 63, 64].map((length) => Buffer.alloc(length, 0xa7 + length))
  const lengths = [0, 1, 55, 56, 63, 64, 65, 119, 333, 334, 999, 1000, 1001, 5000, 3]
  for (const key of keys) {
    const hmac = createFastHmac(key)
    for (const unit of ['a', '\0', 'ÿ', '€', '😀', '\ud800']) {
      for (const length of lengths) {
        const text = unit.repeat(length)
        for (const encoding of ['base64url', 'latin1'] as const) {
          expect(hmac(text, encoding)).toBe(
            createHmac('sha256', key)
              .update(text)
              .digest(encoding as 'base64url'),
          )
        }
      }
    }
  }
})

test('a key that is longer than a block is rejected', () => {
  expect(() => createFastHmac(Buffer.alloc(65))).toThrow('the key has 65 bytes, but at most 64 are supported')
})
