import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type ClientOptions, WebSocket, type WebSocketServer } from 'ws'
import { createWebSocketServer } from '../../../base/http/upgrades.ts'
import { type Connection, createConnection } from '../../../host/clients/connection.ts'
import { type BrowserFrame, type HostFrame, MAX_BROWSER_FRAME } from '../../../host/web/frames.ts'
import { maskedFrame } from '../../support/raw-frames.ts'
import { waitUntil } from '../../support/wait-until.ts'

// These tests use real sockets. They set the clock that rate limits use.

const HELLO = {
  kind: 'hello',
  client: null,
  page: '5f0f7f5e-8f0d-4c1e-9a3e-0c9c2b8f6f11',
  width: 800,
  height: 600,
}
const EVENT = { kind: 'event', seq: 1, form: 'main', element: 'save', type: 'onAction', value: null }
const REFUSED: HostFrame = { kind: 'closed', why: 'refused' }

let server: Server
let sockets: WebSocketServer
let time: number
beforeEach(async () => {
  time = 0
  server = createServer()
  sockets = createWebSocketServer(MAX_BROWSER_FRAME)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  vi.useRealTimers()
  for (const socket of sockets.clients) socket.terminate()
  server.close()
})

async function connect(options: ClientOptions = {}) {
  const frames: BrowserFrame[] = []
  const received: HostFrame[] = []
  const over = Promise.withResolvers<number>()
  const made = Promise.withResolvers<{ connection: Connection; socket: WebSocket }>()
  let ends = 0
  server.once('upgrade', (request, stream, head) => {
    sockets.handleUpgrade(request, stream, head, (socket) => {
      const events = {
        frame: (frame: BrowserFrame) => void frames.push(frame),
        closed(refused: number) {
          ends += 1
          over.resolve(refused)
        },
      }
      made.resolve({ connection: createConnection(socket, events, () => time), socket })
    })
  })
  const { port } = server.address() as AddressInfo
  const browser = new WebSocket(`ws://127.0.0.1:${port}/`, options)
  const closed = Promise.withResolvers<number>()
  browser.on('message', (data) => received.push(JSON.parse(data.toString()) as HostFrame))
  browser.on('close', (code) => closed.resolve(code))
  browser.on('error', () => {})
  await once(browser, 'open')
  const { connection, socket } = await made.promise
  const send = (frame: unknown) => browser.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
  return {
    connection,
    /** The host's end of the connection. */
    socket,
    browser,
    /** Frames that the host accepted. */
    frames,
    received,
    send,
    raw: (bytes: Uint8Array) => (browser as unknown as { readonly _socket: Socket })._socket.write(bytes),
    /** Resolves with the number of rejected frames when the connection closes. */
    over: over.promise,
    ends: () => ends,
    /** The close code that the browser received. */
    closed: closed.promise,
    /**
     * Resolves when the host has read everything sent so far. Uses a WebSocket ping, which is not a frame of our
     * protocol.
     */
    async settled() {
      const answered = once(browser, 'pong')
      browser.ping()
      await answered
    },
  }
}

test('connection: protocol frames arrive in order', async () => {
  const { send, frames, settled } = await connect()
  send(HELLO)
  send(EVENT)
  await settled()
  expect(frames).toEqual([HELLO, EVENT])
})

const DEEP = 40_000
test.each<[string, string | Uint8Array]>([
  ['invalid JSON', 'hello'],
  ['nothing', ''],
  ['another kind of frame', JSON.stringify({ ...EVENT, kind: 'admin' })],
  ['an extra key', JSON.stringify({ ...EVENT, permissions: ['Managers'] })],
  ['a key __proto__', JSON.stringify(EVENT).replace('{', '{"__proto__":{"isAdmin":true},')],
  ['seq 2^53', JSON.stringify({ ...EVENT, seq: 2 ** 53 })],
  ['seq 0', JSON.stringify({ ...EVENT, seq: 0 })],
  ['seq 1.5', JSON.stringify({ ...EVENT, seq: 1.5 })],
  ['seq 1e999', JSON.stringify(EVENT).replace('"seq":1', '"seq":1e999')],
  ['another type of event', JSON.stringify({ ...EVENT, type: 'onLoad' })],
  ['deeply nested JSON', `${'['.repeat(DEEP)}${']'.repeat(DEEP)}`],
  ['a deeply nested value', `{"kind":"event","seq":1,"value":${'{"a":'.repeat(DEEP / 3)}`],
  ['JSON in a binary frame', Buffer.from(JSON.stringify(EVENT))],
])('connection: %s is rejected and counted, and has no other effect', async (_what, data) => {
  const { browser, send, frames, settled, over } = await connect()
  send(HELLO)
  browser.send(data)
  send(EVENT)
  await settled()
  expect(frames).toEqual([HELLO, EVENT])
  browser.close()
  expect(await over).toBe(1)
})

test('connection: 20 rejected frames are tolerated; the next one closes the connection with a reason', async () => {
  const { send, settled, frames, received, closed, over } = await connect()
  send(HELLO)
  for (let sent = 0; sent < 20; sent++) send('x')
  send(EVENT)
  await settled()
  expect(frames).toEqual([HELLO, EVENT])
  send('x')
  send(EVENT)
  expect([await closed, received, frames]).toEqual([1008, [REFUSED], [HELLO, EVENT]])
  expect(await over).toBe(22)
})

test('connection: the count of rejected frames decreases by one every 3 s', async () => {
  const { send, settled, browser, closed } = await connect()
  send(HELLO)
  for (let sent = 0; sent < 60; sent++) {
    send('x')
    await settled()
    time += 3000
  }
  expect(browser.readyState).toBe(WebSocket.OPEN)
  for (let sent = 0; sent < 21; sent++) send('x')
  expect(await closed).toBe(1008)
})

test('connection: a long frame counts as several, so a megabyte counts as much as hundreds of clicks', async () => {
  const { browser, frames, received, over, closed } = await connect()
  const long = JSON.stringify({ ...EVENT, type: 'onElementDataChange', value: '\u0001'.repeat(100_000) })
  // A frame of 600,108 bytes costs 147 units: one for the frame and one per 4,096 bytes. The initial 300 units allow
  // only two.
  for (let sent = 0; sent < 3; sent++) browser.send(long)
  expect(await closed).toBe(1008)
  expect(await over).toBeGreaterThan(0)
  expect(frames).toHaveLength(2)
  expect(received.at(-1)).toEqual(REFUSED)
})

test('connection: a burst of 300 valid frames is accepted, and the next one closes the connection; 60 more are allowed per second', async () => {
  const patient = await connect()
  for (let sent = 0; sent < 240; sent++) patient.send(EVENT)
  await patient.settled()
  for (let second = 0; second < 5; second++) {
    time += 1000
    for (let sent = 0; sent < 59; sent++) patient.send(EVENT)
    await patient.settled()
  }
  expect(patient.frames).toHaveLength(240 + 5 * 59)

  const flooding = await connect()
  for (let sent = 0; sent < 10_000; sent++) flooding.send(EVENT)
  expect([await flooding.closed, flooding.received]).toEqual([1008, [REFUSED]])
  expect(flooding.frames).toHaveLength(300)
})

test('connection: a flood of pongs closes the connection, as any other flood does', async () => {
  const { browser, closed, received } = await connect()
  for (let sent = 0; sent < 10_000; sent++) browser.pong()
  expect([await closed, received]).toEqual([1008, [REFUSED]])
})

test('connection: a flood of pings closes the connection at any speed, and is counted', async () => {
  const fast = await connect()
  for (let sent = 0; sent < 10_000; sent++) fast.browser.ping()
  await fast.closed
  expect(await fast.over).toBeGreaterThan(0)
  const slow = await connect()
  for (let sent = 0; sent < 300; sent++) await slow.settled()
  slow.browser.ping()
  expect([await slow.closed, slow.received]).toEqual([1008, [REFUSED]])
})

test('connection: after it ends, nothing more is received', async () => {
  const { browser, socket, send, closed, frames } = await connect()
  for (let sent = 0; sent < 301; sent++) send(EVENT)
  await waitUntil(() => expect(socket.isPaused).toBe(true))
  for (let sent = 0; sent < 50; sent++) browser.send(Buffer.alloc(MAX_BROWSER_FRAME))
  await closed
  expect(frames).toHaveLength(300)
})

test('connection: a frame larger than any page sends closes the connection, and is counted', async () => {
  const { browser, closed, over } = await connect()
  browser.send('x'.repeat(MAX_BROWSER_FRAME + 1))
  expect([await closed, await over]).toEqual([1009, 1])
  const large = await connect()
  large.browser.send(Buffer.alloc(10 * 1024 ** 2))
  expect([await large.closed, await large.over]).toEqual([1009, 1])
})

test('connection: the number of fragments in a frame and their total length are limited', async () => {
  const small = await connect()
  small.raw(maskedFrame('{', { isLast: false }))
  for (let part = 0; part < 100; part++) small.raw(maskedFrame(' ', { isLast: false, opcode: 0 }))
  expect([await small.closed, await small.over]).toEqual([1008, 1])

  const large = await connect()
  large.raw(maskedFrame('{', { isLast: false }))
  for (let part = 0; part < 4; part++) {
    large.raw(maskedFrame(' '.repeat(MAX_BROWSER_FRAME / 3), { isLast: false, opcode: 0 }))
  }
  expect([await large.closed, await large.over]).toEqual([1009, 1])
})

test.each<[string, (page: Awaited<ReturnType<typeof connect>>) => void]>([
  ['nothing', () => {}],
  ['anything other than hello', ({ send }) => send('x')],
  ['an event', ({ send }) => send(EVENT)],
  ['an incomplete hello', ({ raw }) => void raw(maskedFrame('{"kind":"hello"', { isLast: false }))],
])('connection: a browser that sends %s for 10 s is disconnected', async (_what, act) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const page = await connect()
  act(page)
  await page.settled()
  vi.advanceTimersByTime(9999)
  expect(page.socket.readyState).toBe(WebSocket.OPEN)
  vi.advanceTimersByTime(1)
  // The connection closes without a close frame (RFC 6455, section 7.1.5).
  expect(await page.closed).toBe(1006)
})

test('connection: a browser that sent hello stays connected', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const page = await connect()
  page.send(HELLO)
  await page.settled()
  vi.advanceTimersByTime(60_000)
  await page.settled()
  expect(page.socket.readyState).toBe(WebSocket.OPEN)
})

test('connection: a browser that never reads is disconnected when 16 MB are queued for it', async () => {
  const { browser, connection, socket, over } = await connect()
  browser.pause()
  const text = 'x'.repeat(1024 ** 2)
  let sent = 0
  let most = 0
  while (socket.readyState === WebSocket.OPEN && sent < 1000) {
    connection.send({ kind: 'message', text, level: 'info' })
    most = Math.max(most, socket.bufferedAmount)
    sent += 1
    await new Promise(setImmediate)
  }
  await over
  expect(sent).toBeLessThan(1000)
  expect(most).toBeLessThan(18 * 1024 ** 2)
})

test('connection: a browser that does not answer a heartbeat is disconnected at the next one', async () => {
  const { connection, over, ends, browser } = await connect({ autoPong: false })
  const pinged = once(browser, 'ping')
  connection.checkHeartbeat()
  await pinged
  connection.checkHeartbeat()
  await over
  const answering = await connect()
  for (let beat = 0; beat < 3; beat++) {
    const answered = once(answering.socket, 'pong')
    answering.connection.checkHeartbeat()
    await answered
  }
  expect([answering.socket.readyState, ends()]).toEqual([WebSocket.OPEN, 1])
})

test('connection: repeated heartbeats leave no listeners behind', async () => {
  const { connection, socket } = await connect()
  const listeners = () => socket.listenerCount('pong') + socket.listenerCount('close')
  const before = listeners()
  for (let asked = 0; asked < 30; asked++) expect(await connection.answers(10_000)).toBe(true)
  expect(listeners()).toBe(before)
  const silent = await connect({ autoPong: false })
  expect(await silent.connection.answers(1)).toBe(false)
  silent.socket.terminate()
  expect(await silent.connection.answers(10_000)).toBe(false)
})

test('connection: the last frame arrives before the close, later frames don’t, and the connection ends once', async () => {
  const { connection, received, closed, over, ends } = await connect()
  connection.close(4401, { kind: 'closed', why: 'signed-out' })
  connection.send({ kind: 'busy' })
  connection.close(1001)
  connection.refuse()
  expect([await closed, received]).toEqual([4401, [{ kind: 'closed', why: 'signed-out' }]])
  await over
  expect(ends()).toBe(1)
})

test('connection: many duplicated tabs together cause one ping, which doesn’t exceed the rate limit', async () => {
  const { connection, browser, closed } = await connect()
  let pings = 0
  browser.on('ping', () => pings++)
  const answers = await Promise.all(Array.from({ length: 500 }, () => connection.answers(10_000)))
  expect([answers.every((isThere) => isThere), pings]).toEqual([true, 1])
  expect(await connection.answers(10_000)).toBe(true)
  connection.close(1000)
  expect(await closed).toBe(1000)
})

test('connection: it counts the characters that were sent, and reports what the browser has not read', async () => {
  const { connection, browser } = await connect()
  const frame: HostFrame = { kind: 'message', text: 'x'.repeat(1000), level: 'info' }
  connection.send(frame)
  await waitUntil(() => expect(connection.unread().held).toBe(0))
  expect(connection.unread().taken).toBe(JSON.stringify(frame).length)
  browser.pause()
  for (let count = 0; count < 12; count++) connection.send({ ...frame, text: 'x'.repeat(1024 ** 2) })
  expect(connection.unread().held).toBeGreaterThan(0)
  connection.terminate()
  await waitUntil(() => expect(connection.unread().held).toBe(0))
})
