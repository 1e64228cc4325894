import { expect, test } from 'vitest'
import { createLane } from '../../../host/clients/lane.ts'

test('lane: a task starts when the previous one is done, even if that one failed', async () => {
  const done: string[] = []
  const lane = createLane((error) => void done.push(String(error)))
  const first = Promise.withResolvers<void>()
  void lane.enqueue(async () => {
    await first.promise
    done.push('first')
  })
  void lane.enqueue(() => Promise.reject(new TypeError('second')))
  const third = lane.enqueue(async () => void done.push('third'))
  expect([lane.waiting(), done]).toEqual([3, []])
  first.resolve()
  await third
  expect([lane.waiting(), done]).toEqual([0, ['first', 'TypeError: second', 'third']])
})

test('lane: done waits for the tasks queued before it', async () => {
  const lane = createLane(() => {})
  let isDone = false
  void lane.enqueue(async () => {
    isDone = true
  })
  await lane.done()
  expect(isDone).toBe(true)
})
