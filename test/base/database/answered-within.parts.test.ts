import { expect, test } from 'vitest'
import { answeredWithin } from '../../../base/database/answered-within.ts'
import { ERRORS } from '../../../base/http/errors.ts'

test('an answer that comes in time is given on, and so is a failure', async () => {
  expect(await answeredWithin(1000, Promise.resolve('yes'))).toBe('yes')
  await expect(answeredWithin(1000, Promise.reject(new Error('no')))).rejects.toThrow('no')
})

test('a database that says nothing is away when the time is over', async () => {
  await expect(answeredWithin(20, new Promise(() => {}))).rejects.toMatchObject({
    code: 'ERR_DATABASE_UNREACHABLE',
    details: { retryAfter: 5 },
  })
  expect(ERRORS.ERR_DATABASE_UNREACHABLE.status).toBe(503)
})

test('a failure that comes too late is nobody’s', async () => {
  const { promise, reject } = Promise.withResolvers<never>()
  await expect(answeredWithin(20, promise)).rejects.toMatchObject({ code: 'ERR_DATABASE_UNREACHABLE' })
  reject(new Error('late'))
})
