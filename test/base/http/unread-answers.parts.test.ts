import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { boundUnreadAnswers } from '../../../base/http/unread-answers.ts'

const stops: (() => unknown)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

const MB = 1024 ** 2
/**
 * With this interval, the timer never runs during a test. The tests call `look` instead. Two calls in a row find every
 * connection slow.
 */
const NEVER = 3_600_000

/** Starts a server that responds to `/N` with N megabytes. */
async function serve(mostHeld: number, trustedProxies: readonly string[] = []) {
  let begun = 0
  const server = createServer((request, response) => {
    begun++
    response.end(Buffer.alloc(Number(request.url?.slice(1)) * MB, 'x'))
  })
  const look = boundUnreadAnswers(server, trustedProxies, mostHeld, NEVER)
  // Listen on all of 127.0.0.0/8, so that clients can use different addresses.
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  stops.push(() => void server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  async function ask(path: string, { reads = false, localAddress = '127.0.0.1' } = {}) {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    const state = { isOpen: true, read: 0 }
    socket
      .on('error', () => {})
      .on('close', () => {
        state.isOpen = false
      })
    // If nothing reads from the socket, only a write detects that the connection was closed.
    function isOpen(): boolean {
      socket.write('\r\n')
      return state.isOpen
    }
    if (reads)
      socket.on('data', (piece) => {
        state.read += piece.length
      })
    stops.push(() => socket.destroy())
    const before = begun
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    await expect.poll(() => begun).toBe(before + 1)
    return { state, isOpen }
  }
  return { ask, look }
}

test('if all unread responses together exceed the limit, the connection with the most is closed; others stay', async () => {
  const { ask, look } = await serve(30 * MB)
  const small = await ask('/12')
  const large = await ask('/40')
  const reader = await ask('/40', { reads: true })
  look()
  await expect.poll(() => reader.state.read).toBeGreaterThan(40 * MB)
  look()
  await expect.poll(() => large.isOpen()).toBe(false)
  expect([small.state.isOpen, reader.state.isOpen]).toEqual([true, true])
})

test('below the limit no connection is closed, however long a response waits', async () => {
  const { ask, look } = await serve(64 * MB)
  const slow = [await ask('/12'), await ask('/12')]
  for (let times = 0; times < 5; times++) look()
  for (const { isOpen } of slow) isOpen()
  await ask('/1', { reads: true })
  expect(slow.map(({ state }) => state.isOpen)).toEqual([true, true])
})

test('connections from the network with the most unread data are closed first; those from a trusted proxy count separately', async () => {
  const direct = await serve(30 * MB)
  const many = [
    await direct.ask('/12', { localAddress: '127.0.0.2' }),
    await direct.ask('/12', { localAddress: '127.0.0.2' }),
  ]
  const single = await direct.ask('/16')
  direct.look()
  direct.look()
  await expect.poll(() => many.map(({ isOpen }) => isOpen())).toContain(false)
  expect(single.state.isOpen).toBe(true)

  const proxied = await serve(30 * MB, ['127.0.0.2'])
  const behind = [
    await proxied.ask('/12', { localAddress: '127.0.0.2' }),
    await proxied.ask('/12', { localAddress: '127.0.0.2' }),
  ]
  const larger = await proxied.ask('/16')
  proxied.look()
  proxied.look()
  await expect.poll(() => larger.isOpen()).toBe(false)
  expect(behind.map(({ state }) => state.isOpen)).toEqual([true, true])
})
