import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { post } from '../../../base/outbound/post.ts'
import { createSender, type Sender } from '../../../base/outbound/sender.ts'
import { type BatchQueue, createBatchQueue, type DropReason } from '../../../base/work/batch-queue.ts'
import { type Collector, startCollector } from '../../support/collector.ts'
import { waitUntil } from '../../support/wait-until.ts'

const TOKEN = 'a token that nobody may read'
const FROM = { url: 'CLOUD_URL', headers: 'REMOTE_ENVIRONMENT_TOKEN' }
let home: string
let collector: Collector
let queue: BatchQueue
let sender: Sender
let lines: { readonly level: string; readonly text: string; readonly facts: Record<string, unknown> }[]
let lost: (readonly [number, DropReason])[]

async function start(bound = 1000): Promise<void> {
  queue = createBatchQueue({ folder: join(home, 'logs'), bound, dropped: (...one) => sender.dropped(...one) })
  const at = (level: string) => (facts: Record<string, unknown>, text: string) =>
    void lines.push({ level, text, facts })
  sender = createSender({
    signal: 'logs',
    queue,
    target: { url: `${collector.url}/v1/logs`, headers: { authorization: `Bearer ${TOKEN}` }, from: FROM },
    isCompressed: false,
    timeout: 5000,
    rejectedOf: () => 0,
    log: { warn: at('warn'), info: at('info'), error: at('error') } as never,
    counted: (...one) => void lost.push(one),
    sent: () => {},
    random: () => 0,
  })
  await queue.open()
}

async function put(count: number): Promise<void> {
  await queue.put(new TextEncoder().encode(`{"n":${count}}`), count, 'json')
  sender.wake()
}

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-sender-'))
  collector = await startCollector()
  lines = []
  lost = []
  await start()
})
afterEach(async () => {
  await sender.stop(0)
  await collector.stop()
  rmSync(home, { recursive: true, force: true })
})

const arrived = () => collector.received.map(({ body }) => body.n)
const tried = (count: number) => waitUntil(() => expect(collector.tries).toHaveLength(count), { interval: 10 })

test.each([429, 503, 500])('sender: a batch that gets the response %i is sent again, in order', async (status) => {
  collector.reply = () => ({ status: collector.tries.length === 0 ? status : 200 })
  await put(1)
  await put(2)
  await tried(3)
  await waitUntil(() => expect([sender.state().state, queue.oldest()]).toEqual(['ok', null]))
  expect([arrived(), lost]).toEqual([[1, 2], []])
  expect(lines.map(({ level }) => level)).toEqual(['warn', 'info'])
})

test('sender: a Retry-After in seconds is respected', async () => {
  collector.reply = () => ({ status: collector.tries.length === 0 ? 503 : 200, headers: { 'retry-after': '2' } })
  const begun = performance.now()
  await put(1)
  await tried(2)
  expect(performance.now() - begun).toBeGreaterThan(1900)
})

test('post: a Retry-After is limited to ten minutes', async () => {
  collector.reply = () => ({ status: 429, headers: { 'retry-after': '999999999' } })
  const options = {
    target: { url: collector.url, headers: {}, from: FROM },
    isCompressed: false,
    timeout: 5000,
    rejectedOf: () => 0,
  }
  const result = await post(new Uint8Array(1), 'json', options, new AbortController().signal)
  expect(result).toEqual({ kind: 'later', wait: 600_000, why: 'the server returned HTTP 429' })
})

test('sender: a batch that the collector rejects is dropped and counted, and the next one is sent', async () => {
  collector.reply = () => ({ status: collector.tries.length === 0 ? 400 : 200 })
  await put(7)
  await put(2)
  await tried(2)
  await waitUntil(() => expect(queue.oldest()).toBe(null))
  expect([arrived(), lost, sender.state().dropped]).toEqual([[2], [[7, 'refused']], 7])
})

test.each([
  [401, FROM.headers],
  [403, FROM.headers],
  [404, FROM.url],
  [302, FROM.url],
])(
  'sender: if the response is %i, one log line says which property to correct without revealing the token, and the queue is kept',
  async (status, property) => {
    collector.reply = () => ({ status, headers: { location: `${collector.url}/elsewhere` } })
    await put(1)
    await waitUntil(() => expect(sender.state().state).toBe('barred'))
    await put(2)
    expect(collector.tries).toEqual([{ path: '/v1/logs', status }])
    expect(lines.map(({ level }) => level)).toEqual(['error'])
    const [named] = lines.map(({ text }) => Object.values(FROM).filter((name) => text.includes(name)))
    expect([named, sender.state().correct]).toEqual([[property], property])
    expect(JSON.stringify(lines)).not.toContain(TOKEN)
    expect([queue.oldest()?.count, lost]).toEqual([1, []])
  },
)

test('sender: items dropped because of overload are counted, and the log does not name the collector as the cause', async () => {
  expect(sender.state().droppedAt).toBe(null)
  sender.dropped(3, 'busy')
  await put(1)
  await waitUntil(() => expect(queue.oldest()).toBe(null))
  expect([lost, sender.state().dropped, lines]).toEqual([[[3, 'busy']], 3, []])
  expect(sender.state().droppedAt).toEqual(expect.any(Number))
})

test('sender: once the collector is back, the log shows how many items were dropped', async () => {
  await sender.stop(0)
  await start(20)
  await collector.away()
  await put(1)
  await waitUntil(() => expect(sender.state().state).toBe('away'))
  for (const count of [2, 3, 4, 5]) await put(count)
  await collector.back()
  await waitUntil(() => expect(queue.oldest()).toBe(null))
  await waitUntil(() => expect(lines.map(({ facts }) => facts.dropped)).toContain(6))
  expect([arrived(), sender.state()]).toEqual([
    [4, 5],
    { signal: 'logs', state: 'ok', correct: null, waiting: 0, dropped: 6, droppedAt: expect.any(Number) },
  ])
})

test('sender: stopping sends the last batch', async () => {
  await queue.put(new TextEncoder().encode('{"n":9}'), 9, 'json')
  await sender.stop(5000)
  expect(arrived()).toEqual([9])
})

test('sender: stopping does not wait for a collector that does not respond, and the queue is kept', async () => {
  collector.reply = () => 'hang'
  await put(1)
  await tried(1)
  await sender.stop(20)
  expect(queue.oldest()?.count).toBe(1)
})
