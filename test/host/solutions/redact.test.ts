import { expect, test } from 'vitest'
import { createRedact, secretFields } from '../../../host/solutions/redact.ts'

const redactWith = (fields: Record<string, string>) => createRedact(secretFields(new Map(Object.entries(fields))))

test('redact: the longest value goes first, in every spelling, and an empty one changes nothing', () => {
  const redact = redactWith({ password: 'a b', custom_x: 'a b c', custom_empty: '', username: 'anna' })
  expect(redact('a b c|a b|a%20b|a+b|anna')).toBe('[custom_x]|[password]|[password]|[password]|anna')
})

test('redact: a value of one or two characters goes only as a word of its own', () => {
  const redact = redactWith({ custom_site: '1', password: 'x' })
  expect(redact('text 127.0.0.1:8080, site 1, x')).toBe(
    'text 127.0.0.[custom_site]:8080, site [custom_site], [password]',
  )
})

test('redact: what stands in place of a secret is not looked at again, and a name is only a name', () => {
  const redact = redactWith({ custom_a: 'uuu', custom_b: 'custom_a', 'custom_$&': 'secret', custom_$1: '4711' })
  expect(redact('uuu secret 4711')).toBe('[custom_a] [custom_??] [custom_?1]')
})

test('redact: many short values with long names do not make a line grow without end', () => {
  const fields = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`custom_${'a'.repeat(3000)}${n}`, 'aaa']))
  expect(redactWith(fields)('a'.repeat(8192)).length).toBe(10_000)
})
