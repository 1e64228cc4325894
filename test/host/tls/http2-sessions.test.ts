import {
  type ClientHttp2Session,
  connect,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { type AddressInfo, connect as connectTcp } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createSessionWatch } from '../../../host/tls/http2-sessions.ts'
import { waitUntil } from '../../support/wait-until.ts'

// Real connections on loopback, without TLS; only the clock is the test's.

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

async function watched(most?: number) {
  const clock = { time: 0 }
  const watch = createSessionWatch(() => clock.time, most)
  const server = createServer({ settings: { initialWindowSize: 1024 } })
  const sessions: ServerHttp2Session[] = []
  server.on('session', (session) => {
    session.on('error', () => undefined)
    sessions.push(session)
    watch.add(session)
  })
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => undefined)
    if (headers[':path'] === '/large') {
      stream.respond({ ':status': 200 })
      stream.end(Buffer.alloc(10 * 1024 ** 2))
    } else if (headers[':path'] === '/read')
      stream.resume().on('end', () => stream.destroyed || stream.respond({ ':status': 200 }, { endStream: true }))
    else stream.respond({ ':status': 200 }, { endStream: true })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  cleanups.push(() => {
    watch.destroy()
    server.close()
  })
  async function open() {
    const session = connect(url)
    session.on('error', () => undefined)
    let code: number | null = null
    session.on('goaway', (given) => (code = given))
    const ended = new Promise<number | null>((resolve) => session.on('close', () => resolve(code)))
    const isOpen = () => !session.closed && !session.destroyed
    await new Promise<void>((resolve) => session.once('remoteSettings', () => resolve()).once('close', () => resolve()))
    cleanups.push(() => session.destroy())
    return { session, ended, isOpen }
  }
  return { clock, watch, open, sessions, server }
}

const asked = (session: ClientHttp2Session, path: string) =>
  new Promise((resolve) => {
    const stream = session.request({ ':path': path })
    stream.on('response', (headers) => resolve(headers[':status']))
    stream.on('error', () => resolve(null))
    stream.resume()
  })

test('sessions: one without a request ends after 60 s, one that asks goes on', async () => {
  const { clock, watch, open } = await watched()
  const [idle, busy] = [await open(), await open()]
  clock.time = 50_000
  expect(await asked(busy.session, '/')).toBe(200)
  clock.time = 60_001
  watch.look()
  expect(await idle.ended).toBe(0)
  await waitUntil(() => expect(watch.count()).toBe(1))
  expect(busy.isOpen()).toBe(true)
})

test('sessions: one without a request that does not go when it is told so is cut off', async () => {
  const { clock, watch, sessions, server } = await watched()
  const { port } = server.address() as AddressInfo
  const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true })
  cleanups.push(() => socket.destroy())
  socket.on('error', () => undefined).resume()
  // The preface and empty settings, and then nothing whatever comes.
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))
  await waitUntil(() => expect(sessions).toHaveLength(1))
  const connections = () =>
    new Promise((resolve) => server.getConnections((_error, connections) => resolve(connections)))
  clock.time = 60_001
  watch.look()
  clock.time = 65_001
  watch.look()
  await waitUntil(async () => expect([watch.count(), await connections()]).toEqual([0, 0]))
})

test('sessions: a request whose end does not come is cancelled after 300 s, and its connection goes on', async () => {
  const { clock, watch, open, sessions } = await watched()
  const { session } = await open()
  const stream = session.request({ ':path': '/read', ':method': 'POST' })
  stream.on('error', () => undefined)
  const closed = new Promise((resolve) => stream.on('close', () => resolve(stream.rstCode)))
  await new Promise<void>((resolve) => sessions[0]?.once('stream', () => resolve()))
  clock.time = 300_000
  watch.look()
  expect(stream.closed).toBe(false)
  clock.time = 300_001
  watch.look()
  expect(await closed).toBe(8)
  expect(await asked(session, '/')).toBe(200)
})

test('sessions: answers that nobody takes end their connection after 120 s without progress', async () => {
  const { clock, watch, open } = await watched()
  const { session, ended } = await open()
  const stream = session.request({ ':path': '/large' })
  stream.on('error', () => undefined)
  await new Promise((resolve) => stream.once('response', resolve))
  // What fits into the window has gone when the other side says so.
  await new Promise<void>((resolve) => session.ping(() => resolve()))
  watch.look()
  clock.time = 120_001
  watch.look()
  expect(await ended).toBe(11)
})

test('sessions: beyond the most, those that were idle longest make room; where all are in use, the newest is turned away', async () => {
  const { clock, open, watch } = await watched(2)
  const first = await open()
  clock.time = 1
  const second = await open()
  clock.time = 2
  const third = await open()
  expect(await first.ended).toBe(0)
  expect([second.isOpen(), third.isOpen(), watch.count()]).toEqual([true, true, 2])
  const held = [second, third].map(({ session }) => session.request({ ':path': '/read', ':method': 'POST' }))
  for (const stream of held) stream.on('error', () => undefined)
  await Promise.all([second, third].map(({ session }) => new Promise<void>((resolve) => session.ping(() => resolve()))))
  const fourth = await open()
  expect(await fourth.ended).toBe(11)
  expect([second.isOpen(), third.isOpen()]).toEqual([true, true])
})

test('sessions: told to go away they end with their last answer, and none begins any more', async () => {
  const { open, watch } = await watched()
  const { session, ended } = await open()
  const stream = session.request({ ':path': '/read', ':method': 'POST' })
  const status = new Promise((resolve) => stream.on('response', (headers) => resolve(headers[':status'])))
  await new Promise<void>((resolve) => session.ping(() => resolve()))
  watch.goAway()
  await new Promise((resolve) => session.once('goaway', resolve))
  stream.end('x')
  expect(await status).toBe(200)
  stream.resume()
  expect(await ended).toBe(0)
  expect(await (await open()).ended).toBe(0)
})
