import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { afterEach, expect, test, vi } from 'vitest'
import { answerEvents, type EventSink, type EventStream } from '../../../base/http/event-stream.ts'
import { waitUntil } from '../../support/wait-until.ts'

const stops: (() => unknown)[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const stop of stops.splice(0)) stop()
})

/**
 * Starts a server that responds to every request with a stream.
 * @returns `ask`, which sends a request and resolves with its response
 */
async function serve(options: Partial<EventStream> = {}) {
  const left = vi.fn()
  const sinks: EventSink[] = []
  const app = new Koa().use((ctx) =>
    answerEvents(ctx, {
      greeting: 'hello',
      isStillIn: async () => true,
      begin(sink) {
        sinks.push(sink)
        return left
      },
      ...options,
    }),
  )
  app.silent = true
  // Ignore errors from readers that have disconnected; the host's own app does not log them either.
  app.on('error', () => {})
  const server = createServer(app.callback()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  stops.push(() => void server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  const ask = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const asked = get({ port, host: '127.0.0.1' }, resolve).on('error', reject)
      stops.push(() => asked.destroy())
    })
  return { ask, left, sink: () => sinks.at(-1) as EventSink }
}

/** Collects everything received from now on. */
function reading(answer: IncomingMessage) {
  const read = { text: '', isOver: false }
  answer.setEncoding('utf8').resume()
  answer.on('data', (part: string) => {
    read.text += part
  })
  answer.on('error', () => {})
  answer.on('close', () => {
    read.isOver = true
  })
  return read
}

test('events: the greeting is sent immediately, then each event with its number, until the end', async () => {
  const { ask, left, sink } = await serve()
  const answer = await ask()
  expect(answer.headers).toMatchObject({ 'content-type': 'text/event-stream; charset=utf-8', connection: 'close' })
  const read = reading(answer)
  await waitUntil(() => expect(read.text).toBe(': hello\n\n'))
  sink().send({ a: 'line\n' })
  sink().send({ b: 2 }, 7)
  sink().end()
  sink().end()
  await waitUntil(() => expect(read.isOver).toBe(true))
  expect(read.text).toBe(': hello\n\ndata: {"a":"line\\n"}\n\nid: 7\ndata: {"b":2}\n\n')
  expect(answer.complete).toBe(true)
  expect(left).toHaveBeenCalledTimes(1)
  sink().send({ late: true })
})

test('events: a stream that ends during startup still delivers what was sent', async () => {
  const left = vi.fn()
  const { ask } = await serve({
    async begin({ send, end }) {
      send({ only: 1 })
      end()
      return left
    },
  })
  const read = reading(await ask())
  await waitUntil(() => expect(read).toEqual({ text: ': hello\n\ndata: {"only":1}\n\n', isOver: true }))
  expect(left).toHaveBeenCalledTimes(1)
})

test('events: an error before the stream begins is sent as an error response', async () => {
  const { ask } = await serve({
    begin() {
      throw Object.assign(new Error('too many'), { status: 429, expose: true })
    },
  })
  const answer = await ask()
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([429, 'text/plain; charset=utf-8'])
  answer.resume()
})

test('events: a reader that disconnects is released exactly once', async () => {
  const { ask, left, sink } = await serve()
  const answer = await ask()
  answer.destroy()
  await waitUntil(() => expect(left).toHaveBeenCalledTimes(1))
  sink().end()
  expect(left).toHaveBeenCalledTimes(1)
})

test('events: a comment is sent every 15 s while the reader has access; an error in the access check disconnects nobody', async () => {
  const answers = [async () => true, () => Promise.reject(new Error('the database is away')), async () => false]
  const { ask, left } = await serve({ isStillIn: () => answers.shift()?.() ?? Promise.resolve(true) })
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const read = reading(await ask())
  const begun = ': hello\n\n'
  for (const comments of [1, 2]) {
    vi.advanceTimersByTime(15_000)
    await waitUntil(() => expect(read.text).toBe(begun + ': keep-alive\n\n'.repeat(comments)))
  }
  expect(left).not.toHaveBeenCalled()
  vi.advanceTimersByTime(15_000)
  await waitUntil(() => expect(read.isOver).toBe(true))
  expect(left).toHaveBeenCalledTimes(1)
  expect(vi.getTimerCount()).toBe(0)
})

test('events: a reader that does not read is disconnected', async () => {
  const { ask, left, sink } = await serve()
  const answer = await ask()
  answer.pause()
  const line = { text: 'x'.repeat(100_000) }
  // Send repeatedly: the operating system buffers an unknown amount before the stream's own limit is reached.
  await waitUntil(
    () => {
      for (let count = 0; count < 10; count++) sink().send(line)
      expect(left).toHaveBeenCalledTimes(1)
    },
    { interval: 1 },
  )
  const read = reading(answer)
  await waitUntil(() => expect([read.isOver, answer.complete]).toEqual([true, false]))
})

test('events: initial data of any size arrives completely', async () => {
  const lines = Array.from({ length: 5000 }, (_, at) => ({ at, text: 'y'.repeat(2000) }))
  const { ask, left } = await serve({
    begin({ send }) {
      for (const line of lines) send(line)
      send({ last: true })
      return left
    },
  })
  const read = reading(await ask())
  await waitUntil(() => expect(read.text.endsWith('data: {"last":true}\n\n')).toBe(true))
  expect(read.text.split('\n\n')).toHaveLength(5000 + 3)
})
