import { expect, test } from 'vitest'
import { createLogQueue, type LogBatch } from '../../../host/solutions/log-queue.ts'

const line = (solution: string, text: string | number, size = 0) => ({ solution, text, size })
type Line = ReturnType<typeof line>

const textsOf = ({ lines }: LogBatch<Line>, solution: string) =>
  lines.filter((one) => one.solution === solution).map(({ text }) => text)

test('log queue: lines are returned once, each solution’s in order', () => {
  const queue = createLogQueue<Line>()
  for (const text of [1, 2]) for (const solution of ['a', 'b']) queue.add(line(solution, text))
  const batch = queue.take()
  expect([textsOf(batch, 'a'), textsOf(batch, 'b'), batch.dropped]).toEqual([[1, 2], [1, 2], new Map()])
  expect(queue.take()).toEqual({ lines: [], dropped: new Map() })
})

test('log queue: if there are too many lines, the solution with most of them loses its newest ones', () => {
  const queue = createLogQueue<Line>()
  queue.add(line('quiet', 'first'))
  for (let n = 0; n < 25_000; n++) queue.add(line('noisy', n))
  queue.add(line('quiet', 'last'))
  const batch = queue.take()
  expect(textsOf(batch, 'quiet')).toEqual(['first', 'last'])
  const noisy = textsOf(batch, 'noisy')
  expect(noisy).toEqual(Array.from({ length: noisy.length }, (_, n) => n))
  expect(batch.lines.length).toBeGreaterThan(19_900)
  expect(batch.lines.length).toBeLessThanOrEqual(20_000)
  expect(batch.dropped).toEqual(new Map([['noisy', 25_000 - noisy.length]]))
})

test('log queue: lines need at most 32 MB, including lines that were put back', () => {
  const queue = createLogQueue<Line>()
  for (let n = 0; n < 6; n++) queue.add(line('large', n, 8 * 1024 ** 2))
  const batch = queue.take()
  expect([textsOf(batch, 'large'), batch.dropped]).toEqual([[0, 1, 2], new Map([['large', 3]])])
  queue.add(line('large', 6, 8 * 1024 ** 2))
  queue.add(line('small', 7))
  queue.putBack(batch)
  const again = queue.take()
  expect([textsOf(again, 'large'), textsOf(again, 'small')]).toEqual([[0, 1, 2], [7]])
  expect(again.dropped).toEqual(new Map([['large', 4]]))
})
