import { expect, test } from 'vitest'
import { createRequestQueue } from '../../control-center/accounts/request-queue.ts'

function logOf() {
  const warnings: string[] = []
  return { warnings, log: { warn: (_what: unknown, text: string) => void warnings.push(text) } as never }
}

test('request queue: a request is looked at after the answer to it, which is made in the same turn', async () => {
  const done: string[] = []
  const queue = createRequestQueue<string>(async (one) => void done.push(one), logOf().log)
  queue.take('a')
  queue.take('b')
  for (let step = 0; step < 1000; step++) await Promise.resolve()
  expect(done).toEqual([])
  await queue.settle()
  expect(done).toEqual(['a', 'b'])
})

test('request queue: one that fails is told to the log and holds up no other', async () => {
  const { warnings, log } = logOf()
  const done: string[] = []
  const queue = createRequestQueue<string>(async (one) => {
    if (one === 'bad') throw new Error('the database is away')
    done.push(one)
  }, log)
  for (const one of ['bad', 'good']) queue.take(one)
  await queue.settle()
  expect([done, warnings]).toEqual([['good'], ['a request for a new password failed']])
})

test('request queue: what comes beyond 200 that wait is dropped, and later there is room again', async () => {
  const { warnings, log } = logOf()
  let done = 0
  const queue = createRequestQueue<number>(async () => void done++, log)
  for (let each = 0; each < 201; each++) queue.take(each)
  await queue.settle()
  expect([done, warnings]).toEqual([200, ['a request for a new password was dropped: too many wait']])
  queue.take(201)
  await queue.settle()
  expect(done).toBe(201)
})
