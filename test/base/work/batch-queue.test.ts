import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createBatchQueue, type DropReason } from '../../../base/work/batch-queue.ts'

let home: string
let lost: (readonly [number, DropReason])[]

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'solhost-queue-'))
  lost = []
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

async function openQueue(bound = 1000) {
  const queue = createBatchQueue({ folder: join(home, 'metrics'), bound, dropped: (...one) => void lost.push(one) })
  await queue.open()
  return queue
}

const body = (size: number) => new Uint8Array(size).fill(7)

test('batch queue: batches are returned oldest first, even by the next process', async () => {
  const first = await openQueue()
  await Promise.all([first.put(body(10), 1, 'pb'), first.put(body(20), 2, 'json')])
  const second = await openQueue()
  await second.put(body(30), 3, 'pb')
  expect(second.size()).toBe(60)
  const seen = []
  for (let batch = second.oldest(); batch !== null; batch = second.oldest()) {
    seen.push([batch.count, batch.format, (await second.read(batch))?.length])
    await second.remove(batch)
  }
  expect(seen).toEqual([
    [1, 'pb', 10],
    [2, 'json', 20],
    [3, 'pb', 30],
  ])
  expect([second.size(), lost, readdirSync(join(home, 'metrics'))]).toEqual([0, [], []])
})

test('batch queue: if the queue exceeds its limit, the oldest batches are dropped and counted', async () => {
  const queue = await openQueue(100)
  for (const count of [1, 2, 3, 4]) await queue.put(body(40), count, 'pb')
  expect(queue.size()).toBe(80)
  expect(queue.oldest()?.count).toBe(3)
  await queue.put(body(101), 9, 'pb')
  expect(lost).toEqual([
    [1, 'queue_full'],
    [2, 'queue_full'],
    [9, 'queue_full'],
  ])
  expect(readdirSync(join(home, 'metrics'))).toHaveLength(2)
})

test('batch queue: if the limit is lower at the next start, the oldest batches are dropped until the rest fits', async () => {
  const first = await openQueue(100)
  for (const count of [1, 2]) await first.put(body(40), count, 'pb')
  expect((await openQueue(50)).oldest()?.count).toBe(2)
  expect(lost).toEqual([[1, 'queue_full']])
})

test('batch queue: only the account that runs the process can read the queue', async () => {
  const queue = await openQueue()
  await queue.put(body(10), 1, 'pb')
  const folder = join(home, 'metrics')
  const [file = ''] = readdirSync(folder)
  expect([statSync(folder).mode & 0o777, statSync(join(folder, file)).mode & 0o777]).toEqual([0o700, 0o600])
  expect(readFileSync(join(folder, file))).toHaveLength(10)
})

test('batch queue: the unfinished writes of a process that has ended are removed; other files stay', async () => {
  const queue = await openQueue()
  await queue.put(body(10), 1, 'pb')
  for (const name of ['000000000009-1.pb.part', 'notes.txt']) writeFileSync(join(home, 'metrics', name), 'x')
  const next = await openQueue()
  expect(next.size()).toBe(10)
  expect(readdirSync(join(home, 'metrics'))).toEqual(['000000000001-1.pb', 'notes.txt'])
})

test('batch queue: if a file is missing or the folder can’t be written to, the loss is reported, and the work continues', async () => {
  const queue = await openQueue()
  await queue.put(body(10), 5, 'pb')
  const batch = queue.oldest()
  rmSync(join(home, 'metrics'), { recursive: true })
  expect(batch && (await queue.read(batch))).toBe(null)
  await queue.put(body(10), 6, 'pb')
  expect([queue.size(), queue.oldest(), lost]).toEqual([
    0,
    null,
    [
      [5, 'disk'],
      [6, 'disk'],
    ],
  ])
})
