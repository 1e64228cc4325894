import { expect, test } from 'vitest'
import { storedHash } from '../../../base/database/stored-hash.ts'
import { tokenForm } from '../../../base/database/token-form.ts'

const FORM = tokenForm('sol_')

test('tokens: each is unique, with its prefix and 256 bits', () => {
  const made = Array.from({ length: 20 }, () => FORM.make().token)
  expect(new Set(made).size).toBe(20)
  for (const token of made) expect(token).toMatch(/^sol_[A-Za-z0-9_-]{43}$/)
})

test('tokens: only the token itself matches the stored hash', () => {
  const { token, hash } = FORM.make()
  expect(hash).toBe(storedHash(token))
  expect(FORM.hashOf(token)).toBe(hash)
  expect(hash).not.toContain(token)
})

test.each([
  ['another kind', `ret_${'a'.repeat(43)}`],
  ['a token with a letter missing', `sol_${'a'.repeat(42)}`],
  ['a token with an extra letter', `sol_${'a'.repeat(44)}`],
  ['a token with a trailing line break', `sol_${'a'.repeat(43)}\n`],
  ['a token with a character that is not in base64url', `sol_${'a'.repeat(42)}=`],
  ['nothing', ''],
])('tokens: %s is not a token', (_case, text) => {
  expect(FORM.hashOf(text)).toBeNull()
})

test('tokens: tokens in links have no prefix', () => {
  const { token } = tokenForm('').make()
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
})
