import { connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createDraining, endKeptConnections } from '../../../base/http/draining.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function begin(time: number) {
  const draining = createDraining(time)
  const happened: unknown[] = []
  const drained = draining.drain((within) => void happened.push(within)).then(() => void happened.push('drained'))
  return { draining, happened, drained }
}

test('draining: a host is ready and rejects nothing until it drains', () => {
  const draining = createDraining(1000)
  expect([draining.isReady(), draining.isRefusing()]).toEqual([true, false])
})

test('draining: the host stops being ready immediately, and clients move in the second half of the drain time', async () => {
  const { draining, happened } = begin(10_000)
  expect([draining.isReady(), draining.isRefusing()]).toEqual([false, false])
  await vi.advanceTimersByTimeAsync(4_999)
  expect(happened).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(happened).toEqual([5000])
  await vi.advanceTimersByTimeAsync(4_999)
  expect(happened).toEqual([5000])
  await vi.advanceTimersByTimeAsync(1)
  expect(happened).toEqual([5000, 'drained'])
})

test('draining: requests are accepted for one more second', async () => {
  const { draining, drained } = begin(10_000)
  await vi.advanceTimersByTimeAsync(10_999)
  await drained
  expect(draining.isRefusing()).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(draining.isRefusing()).toBe(true)
})

test('draining: without a drain time, the wait ends immediately', async () => {
  const { happened, drained } = begin(0)
  await drained
  expect(happened).toEqual(['drained'])
})

test.each([0, 5_000])('draining: a second signal after %d ms ends the wait', async (after) => {
  const { draining, happened, drained } = begin(10_000)
  await vi.advanceTimersByTimeAsync(after)
  draining.hurry()
  await drained
  expect(happened).toEqual([5000, 'drained'])
})

test('draining: an HTTP/2 connection is closed after its current request has got its response', async () => {
  vi.useRealTimers()
  let isReady = true
  const app = new Koa()
  app.use(endKeptConnections({ isReady: () => isReady }))
  app.use((ctx) => {
    ctx.body = 'answered'
  })
  const server = createServer(app.callback())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const answer = async () => {
    const chunks: string[] = []
    for await (const chunk of session.request({ ':path': '/' }).setEncoding('utf8')) chunks.push(chunk)
    return chunks.join('')
  }
  expect([await answer(), await answer()]).toEqual(['answered', 'answered'])
  const ended = new Promise((resolve) => session.once('close', resolve))
  isReady = false
  expect(await answer()).toBe('answered')
  await ended
  expect(session.closed).toBe(true)
  await new Promise((resolve) => server.close(resolve))
})
