import { expect, test } from 'vitest'
import { serverAnswered } from '../../../host/solution-databases/query-errors.ts'

test('a server’s message is truncated, and addresses and the account are removed', () => {
  const message = `no route from 10.0.0.7:5432 or [fd00::12:1] for app_user at db.internal\nDETAIL ${'x'.repeat(1000)}`
  const { message: text } = serverAnswered(message, ['app_user', 'db.internal', 's3cret'])
  expect(text).toMatch(/^the database reported: no route from … or … for … at … DETAIL x+…$/)
  expect(text.length).toBeLessThan(530)
})

test('an account’s name within another word is not removed', () => {
  const { message } = serverAnswered('permission denied for table app_users of app', ['app', ''])
  expect(message).toBe('the database reported: permission denied for table app_users of …')
})

test('times and types in a message are not removed', () => {
  const message = 'invalid input syntax for type time: "12:30:99" at a::int'
  expect(serverAnswered(message).message).toBe(`the database reported: ${message}`)
})
