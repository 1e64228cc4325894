import {
  type ClientHttp2Session,
  connect,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { type AddressInfo, connect as connectTcp } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createSessionWatch } from '../../../base/tls/http2-sessions.ts'
import { waitUntil } from '../../support/wait-until.ts'

// Uses real connections on loopback, without TLS. The test sets the clock.

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

type Bounds = { most?: number; ofAddress?: number; mostHeld?: number; trustedProxies?: string[] }

async function watched({ ofAddress = 512, trustedProxies = [], ...bounds }: Bounds = {}) {
  const clock = { time: 0 }
  const settings = { limits: { HTTP2_CONNECTIONS_ADDRESS: ofAddress }, trustedProxies }
  const watch = createSessionWatch(settings, () => clock.time, bounds)
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
  // Listen on all of 127.0.0.0/8, so that clients can use different addresses.
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  cleanups.push(() => {
    watch.destroy()
    server.close()
  })
  async function open(localAddress = '127.0.0.1') {
    const { port } = server.address() as AddressInfo
    const session = connect(url, { createConnection: () => connectTcp({ port, host: '127.0.0.1', localAddress }) })
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

test('sessions: a connection without requests ends after 60 s, one with requests stays', async () => {
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

test('sessions: an idle connection that does not close after GOAWAY is cut off', async () => {
  const { clock, watch, sessions, server } = await watched()
  const { port } = server.address() as AddressInfo
  const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true })
  cleanups.push(() => socket.destroy())
  socket.on('error', () => undefined).resume()
  // Sends only the preface and an empty SETTINGS frame.
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

test('sessions: an unfinished request is cancelled after 300 s, and its connection stays open', async () => {
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

test('sessions: unread responses end their connection after 120 s without progress', async () => {
  const { clock, watch, open } = await watched()
  const { session, ended } = await open()
  const stream = session.request({ ':path': '/large' })
  stream.on('error', () => undefined)
  await new Promise((resolve) => stream.once('response', resolve))
  // When the response to the ping arrives, everything that fits into the window has been sent.
  await new Promise<void>((resolve) => session.ping(() => resolve()))
  watch.look()
  clock.time = 120_001
  watch.look()
  expect(await ended).toBe(11)
})

test('sessions: at the limit, those idle longest are closed; if all are in use, a new one is rejected', async () => {
  const { clock, open, watch } = await watched({ most: 2 })
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

/** Sends a request on each session, and never completes it. */
async function hold(sessions: readonly { session: ClientHttp2Session }[]): Promise<void> {
  for (const { session } of sessions) {
    session.request({ ':path': '/read', ':method': 'POST' }).on('error', () => undefined)
    await new Promise<void>((resolve) => session.ping(() => resolve()))
  }
}

test('sessions: if an address is at its limit, its new session replaces one of its idle ones, and is rejected if all are in use', async () => {
  const { clock, open, watch } = await watched({ ofAddress: 2 })
  const neighbour = await open('127.0.0.2')
  const first = await open()
  clock.time = 1
  const second = await open()
  clock.time = 2
  const third = await open()
  expect(await first.ended).toBe(0)
  await hold([second, third])
  expect(await (await open()).ended).toBe(11)
  const other = await open('127.0.0.2')
  expect([neighbour, second, third, other].map((one) => one.isOpen())).toEqual([true, true, true, true])
  expect(watch.count()).toBe(4)
})

test('sessions: if all are in use, a session from another address displaces the oldest one from the address with the most', async () => {
  const { clock, open } = await watched({ most: 4 })
  const neighbour = await open('127.0.0.2')
  const many = [await open(), await open(), await open()]
  for (const one of [neighbour, ...many]) {
    clock.time++
    await hold([one])
  }
  const further = await open('127.0.0.3')
  expect(await many[0]?.ended).toBe(11)
  expect([neighbour, ...many.slice(1), further].map((one) => one.isOpen())).toEqual([true, true, true, true])
  await hold([further])
  // 127.0.0.1 now has two sessions, and the other addresses have one each. Closing one of the two for a second session
  // from 127.0.0.3 would only swap the numbers, so the server rejects the new session.
  expect(await (await open('127.0.0.3')).ended).toBe(11)
  expect(await (await open()).ended).toBe(11)
})

test('sessions: those from a trusted proxy count towards the total, but not towards the limit per address', async () => {
  const { open, watch } = await watched({ ofAddress: 1, most: 3, trustedProxies: ['127.0.0.9'] })
  const proxied = [await open('127.0.0.9'), await open('127.0.0.9'), await open('127.0.0.9')]
  expect(watch.count()).toBe(3)
  await hold(proxied)
  expect(await (await open()).ended).toBe(11)
  expect(proxied.map((one) => one.isOpen())).toEqual([true, true, true])
})

/** Requests 10 MB, but stops reading after about `bytes` bytes until `more` is called. */
async function takeSome(session: ClientHttp2Session, bytes: number) {
  const stream = session.request({ ':path': '/large' })
  stream.on('error', () => undefined)
  let [wanted, taken] = [bytes, 0]
  let enough = Promise.withResolvers<void>()
  stream.on('data', (piece: Buffer) => {
    taken += piece.length
    if (taken < wanted) return
    stream.pause()
    enough.resolve()
  })
  async function settled(): Promise<void> {
    await enough.promise
    // When the response to the ping arrives, everything that fits into the window has been sent.
    await new Promise<void>((resolve) => session.ping(() => resolve()))
  }
  await settled()
  return {
    async more(further: number) {
      wanted = taken + further
      enough = Promise.withResolvers()
      stream.resume()
      await settled()
    },
  }
}

test('sessions: if less than a tenth of a response is read in 120 s, its connection ends; if it is read faster, it does not', async () => {
  const { clock, watch, open } = await watched()
  const [slow, slower] = [await open(), await open()]
  const [some, few] = [await takeSome(slow.session, 1000), await takeSome(slower.session, 1000)]
  watch.look()
  await some.more(2 * 1024 ** 2)
  await few.more(200 * 1024)
  clock.time = 120_000
  watch.look()
  expect(slower.isOpen()).toBe(true)
  clock.time = 120_001
  watch.look()
  expect([await slower.ended, slow.isOpen()]).toEqual([11, true])
  clock.time = 240_001
  watch.look()
  expect(await slow.ended).toBe(11)
})

test('sessions: the total unread data of slow readers is limited; over the limit, those at the address with the most end', async () => {
  const { watch, open } = await watched({ mostHeld: 15 * 1024 ** 2 })
  const neighbour = await open('127.0.0.2')
  const many = [await open(), await open()]
  for (const one of [neighbour, ...many]) await takeSome(one.session, 1000)
  watch.look()
  // A response that has just begun is not treated as slow.
  expect([neighbour, ...many].map((one) => one.isOpen())).toEqual([true, true, true])
  watch.look()
  expect(await Promise.all(many.map(({ ended }) => ended))).toEqual([11, 11])
  expect(neighbour.isOpen()).toBe(true)
})

test('sessions: a session that got a shutdown notice finishes its current responses and accepts no new request', async () => {
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
