import { expect, test } from 'vitest'
import { answeredWithin } from '../../../base/database/answered-within.ts'
import { ERRORS } from '../../../base/http/errors.ts'

test('a result or error that arrives in time is passed on', async () => {
  expect(await answeredWithin(1000, Promise.resolve('yes'))).toBe('yes')
  await expect(answeredWithin(1000, Promise.reject(new Error('no')))).rejects.toThrow('no')
})

test('a database that does not respond in time is reported as unreachable', async () => {
  await expect(answeredWithin(20, new Promise(() => {}))).rejects.toMatchObject({
    code: 'ERR_DATABASE_UNREACHABLE',
    details: { retryAfter: 5 },
  })
  expect(ERRORS.ERR_DATABASE_UNREACHABLE.status).toBe(503)
})

test('an error that arrives too late is ignored', async () => {
  const { promise, reject } = Promise.withResolvers<never>()
  await expect(answeredWithin(20, promise)).rejects.toMatchObject({ code: 'ERR_DATABASE_UNREACHABLE' })
  reject(new Error('late'))
})
