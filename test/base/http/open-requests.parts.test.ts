import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { inTurn, MOST_OPEN, MOST_WAITING } from '../../../base/http/open-requests.ts'

const stops: (() => unknown)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

/** A server that responds only when the test calls `answer`. */
async function serve() {
  const open: { readonly path: string; readonly response: ServerResponse }[] = []
  const began: string[] = []
  const server = createServer(
    inTurn((request, response) => {
      began.push(request.url ?? '')
      open.push({ path: request.url ?? '', response })
      request.resume()
    }),
  ).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  stops.push(() => void server.close().closeAllConnections())
  function answer(count: number): void {
    for (const { path, response } of open.splice(0, count)) response.end(`<${path}>`)
  }
  function connected() {
    const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
    const read = { text: '', isOver: false }
    socket.setEncoding('utf8').on('data', (text: string) => {
      read.text += text
    })
    socket
      .on('error', () => {})
      .on('close', () => {
        read.isOver = true
      })
    stops.push(() => socket.destroy())
    return { socket, read, answered: () => [...read.text.matchAll(/<([^>]+)>/g)].map(([, path]) => path) }
  }
  return { began, open, answer, connected }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
const paths = (count: number, prefix = '') => Array.from({ length: count }, (_, index) => `/${prefix}${index}`)

test('of 300 pipelined requests, eight are processed at the same time, and the responses are sent in order', async () => {
  const { began, open, answer, connected } = await serve()
  const { socket, answered } = connected()
  const all = paths(300)
  socket.write(all.map(get).join(''))
  await expect.poll(() => open.length).toBe(MOST_OPEN)
  let most = 0
  await expect
    .poll(
      () => {
        most = Math.max(most, open.length)
        answer(3)
        return answered().length
      },
      { interval: 1 },
    )
    .toBe(300)
  expect(most).toBe(MOST_OPEN)
  expect(began).toEqual(all)
  expect(answered()).toEqual(all)
})

test('a paused connection reads no more requests until fewer are waiting; other connections are not paused', async () => {
  const { began, open, answer, connected } = await serve()
  const one = connected()
  one.socket.write(paths(20).map(get).join(''))
  await expect.poll(() => open.length).toBe(MOST_OPEN)
  one.socket.write(paths(500, 'more').map(get).join(''))
  const other = connected()
  other.socket.write(get('/other'))
  await expect.poll(() => began.includes('/other')).toBe(true)
  expect(began).toEqual([...paths(MOST_OPEN), '/other'])
  await expect
    .poll(
      () => {
        answer(8)
        return one.answered().length
      },
      { interval: 1 },
    )
    .toBe(520)
  expect(one.answered()).toEqual([...paths(20), ...paths(500, 'more')])
})

test('bodies of pipelined requests are read although their connection is paused', async () => {
  const { open, answer, connected } = await serve()
  const { socket, answered } = connected()
  const body = 'x'.repeat(200_000)
  const post = (path: string) => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  socket.write([...paths(9).map(get), post('/body'), ...paths(9, 'after').map(get)].join(''))
  await expect.poll(() => open.length).toBe(MOST_OPEN)
  await expect
    .poll(
      () => {
        answer(1)
        return answered()
      },
      { interval: 1 },
    )
    .toEqual([...paths(9), '/body', ...paths(9, 'after')])
})

test('requests that are still waiting when their connection breaks never start', async () => {
  const { began, open, answer, connected } = await serve()
  const { socket } = connected()
  socket.write(paths(50).map(get).join(''))
  await expect.poll(() => open.length).toBe(MOST_OPEN)
  const gone = new Promise((resolve) => open[0]?.response.socket?.once('close', resolve))
  socket.resetAndDestroy()
  // A paused socket only notices the reset when something is written to it.
  answer(MOST_OPEN)
  await gone
  const other = connected()
  other.socket.write(get('/other'))
  await expect.poll(() => began.includes('/other')).toBe(true)
  expect(began).toHaveLength(MOST_OPEN + 1)
})

test('a connection with too many waiting requests is closed', async () => {
  const { began, connected } = await serve()
  const { socket, read } = connected()
  socket.write(
    paths(MOST_OPEN + MOST_WAITING + 1)
      .map((path) => `GET ${path} HTTP/1.1\r\nHost:a\r\n\r\n`)
      .join(''),
  )
  await expect.poll(() => read.isOver).toBe(true)
  expect(began.length).toBeLessThanOrEqual(MOST_OPEN)
})
