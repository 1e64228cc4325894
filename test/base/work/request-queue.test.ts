import { expect, test } from 'vitest'
import { createRequestQueue } from '../../../base/work/request-queue.ts'

function logOf() {
  const warnings: string[] = []
  return { warnings, log: { warn: (_what: unknown, text: string) => void warnings.push(text) } as never }
}

test('request queue: responses are created in the same turn, and requests are processed only after that', async () => {
  const done: string[] = []
  const queue = createRequestQueue<string>(async (one) => void done.push(one), logOf().log)
  queue.take('a')
  queue.take('b')
  for (let step = 0; step < 1000; step++) await Promise.resolve()
  expect(done).toEqual([])
  await queue.settle()
  expect(done).toEqual(['a', 'b'])
})

test('request queue: a failed request is logged and does not affect others', async () => {
  const { warnings, log } = logOf()
  const done: string[] = []
  const queue = createRequestQueue<string>(async (one) => {
    if (one === 'bad') throw new Error('the database is away')
    done.push(one)
  }, log)
  for (const one of ['bad', 'good']) queue.take(one)
  await queue.settle()
  expect([done, warnings]).toEqual([['good'], ['a password reset request failed']])
})

test('request queue: if 200 requests are waiting, further ones are dropped; later ones are accepted again', async () => {
  const { warnings, log } = logOf()
  let done = 0
  const queue = createRequestQueue<number>(async () => void done++, log)
  for (let each = 0; each < 201; each++) queue.take(each)
  await queue.settle()
  expect([done, warnings]).toEqual([200, ['a password reset request was dropped because too many are waiting']])
  queue.take(201)
  await queue.settle()
  expect(done).toBe(201)
})
