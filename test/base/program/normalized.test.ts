import { describe, expect, test } from 'vitest'
import { createPasswords } from '../../../base/accounts/passwords.ts'
import { directoryKey } from '../../../base/accounts/throttle.ts'
import { tidyName } from '../../../base/accounts/user-rules.ts'
import { usernameKey } from '../../../base/accounts/username.ts'
import { normalized } from '../../../base/program/normalized.ts'

/** Marks in an order that normalising changes. */
const marks = (count: number) => `${'\u0301'.repeat(count - 1)}\u0327`

test.each(['NFC', 'NFKC', 'NFKD'] as const)('normalized: a text with 30 marks in a row is normalised to %s', (form) => {
  const text = `Zoe\u0308 q${marks(30)}`
  expect(normalized(text, form)).toBe(text.normalize(form))
  expect(normalized(text, form)).not.toBe(text)
})

test('normalized: the two halfwidth sound marks count as marks', () => {
  const text = `\uff76${'\uff9e'.repeat(30)}`
  expect(normalized(text, 'NFKC')).toBe(text.normalize('NFKC'))
  expect(normalized(`${text}\uff9f`, 'NFKC')).toBe(`${text}\uff9f`)
})

/** Sorting these marks would take about a second. */
const LONG = `q${'\u0301'.repeat(10_000)}${'\u0327'.repeat(10_000)}`

describe('a text with more marks in a row is not normalised', () => {
  test.each([
    ['usernameKey', usernameKey],
    ['tidyName', tidyName],
  ])('%s returns it unchanged', (_name, of) => {
    expect(of(LONG) === LONG).toBe(true)
  })

  test('directoryKey returns it without the marks', () => {
    expect(directoryKey(LONG)).toBe('q')
    expect(directoryKey(`\uff21nna${marks(31)}`)).toBe('anna')
  })

  test('as a password, it differs from the same marks in another order', async () => {
    const passwords = createPasswords()
    const password = `secret-${marks(31)}`
    const hash = await passwords.hash(password)
    expect(await passwords.verify(hash, password)).toBe(true)
    expect(await passwords.verify(hash, password.normalize('NFC'))).toBe(false)
    expect(await passwords.verify(hash, LONG)).toBe(false)
  })
})
