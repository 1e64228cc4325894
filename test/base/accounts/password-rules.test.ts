import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkNewPassword } from '../../../base/accounts/password-rules.ts'
import { TEXTS } from '../../../base/web/texts.ts'
import { createLimits } from '../../../runtime/limits.ts'

const ANNA = { username: 'Anna.Jansen', email: 'a.jansen@example.org' }
const check = (password: string, owner: { username: string; email: string | null } = ANNA) =>
  checkNewPassword(password, owner, createLimits())

test.each([
  'correct horse battery staple',
  'g7#kQp2!',
  'only lowercase letters',
  '8462059173',
  'пароль моей бабушки',
  '🐴🔋📎🐎🌧️🧷🪵🦉',
  ' spaces at both ends ',
])('password rules: "%s" is accepted', (password) => {
  expect(check(password)).toBeNull()
})

test.each([
  ['g7#kQp2', 'short', [8]],
  ['', 'short', [8]],
  ['🐴🔋📎🐎🌧🧷🪵', 'short', [8]],
  ['x1y2z3'.repeat(43), 'long', [256]],
  ['half a \ud83d character', 'characters', []],
  ['password', 'common', []],
  ['P@ssw0rd', 'common', []],
  ['Passw0rd!', 'common', []],
  ['iloveyou12', 'common', []],
  ['Summer2026!', 'common', []],
  ['1qaz2wsx3edc', 'common', []],
  ['Contraseña1', 'common', []],
  ['ｐａｓｓｗｏｒｄ', 'common', []],
  ['zzzzzzzzzzzzzzzzzzzz', 'common', []],
  ['!?!?!?!?!?!?', 'common', []],
  ['anna.jansen', 'personal', []],
  ['my name is ANNA.JANSEN', 'personal', []],
  ['xx-a.jansen-xx', 'personal', []],
])('password rules: "%s" is rejected as %s', (password, key, values) => {
  expect(check(password)).toEqual({ key: `platform.password.${key}`, values })
})

test('password rules: a password may contain a short username, but cannot consist of it', () => {
  expect(check('correct horse', { username: 'se', email: null })).toBeNull()
  const limits = createLimits({ PASSWORD_LENGTH: 2 })
  expect(checkNewPassword('XY9', { username: 'xy9', email: null }, limits)?.key).toBe('platform.password.personal')
})

test('password rules: the length limit of 256 counts characters after Unicode composition', () => {
  expect(check(`${'e\u0301a\u0308u\u0308'.repeat(85)}x`)).toBeNull()
})

test('password rules: the list of common passwords has thousands of entries, in the form that is used for comparisons', () => {
  const list = readFileSync(new URL('../../../base/accounts/common-passwords.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  expect(list.length).toBeGreaterThan(2_500)
  expect(list.filter((one) => one.length >= 8).length).toBeGreaterThan(1_000)
  expect(list.filter((one) => one !== one.normalize('NFKC').toLowerCase().trim())).toEqual([])
  expect(new Set(list).size).toBe(list.length)
})

test('password rules: each reason for rejection has a text in every language', () => {
  for (const name of ['short', 'long', 'characters', 'common', 'personal', 'same']) {
    for (const table of TEXTS.values()) expect(table.has(`platform.password.${name}`)).toBe(true)
  }
})
