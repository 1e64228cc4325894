import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { boundConnections, descriptorLimit, mostConnections } from '../../../base/http/bound-connections.ts'

// Uses real connections from several loopback addresses.

const NEIGHBOUR = '127.0.0.2'
const ATTACKER = '127.0.0.3'

async function startServer(most: number, trustedProxies: readonly string[] = []): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => {}).resume())
  boundConnections(server, { most, trustedProxies })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return server
}

/** Opens a connection. `isOpen` returns whether it is still open. */
async function open(server: Server, localAddress: string) {
  const { port } = server.address() as AddressInfo
  const socket: Socket = connect({ port, host: '127.0.0.1', localAddress })
  let isOpen = true
  socket.on('error', () => {}).resume()
  socket.on('close', () => {
    isOpen = false
  })
  onTestFinished(() => void socket.destroy())
  const accepted = once(server, 'connection')
  await Promise.all([once(socket, 'connect'), accepted])
  return { socket, isOpen: () => isOpen }
}

type Opened = Awaited<ReturnType<typeof open>>

async function openMany(server: Server, address: string, count: number): Promise<Opened[]> {
  const opened: Opened[] = []
  for (let i = 0; i < count; i++) opened.push(await open(server, address))
  return opened
}

const countOf = (server: Server) => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
const openOf = (connections: readonly Opened[]) => connections.map(({ isOpen }) => isOpen())

/** Waits until exactly the expected connections are open. */
async function expectOpen(connections: readonly Opened[], expected: readonly boolean[]): Promise<void> {
  await expect.poll(() => openOf(connections)).toEqual(expected)
}

test('connections: at the limit, another connection from the address with the most is rejected; existing ones stay', async () => {
  const server = await startServer(4)
  const connections = await openMany(server, ATTACKER, 6)
  await expectOpen(connections, [true, true, true, true, false, false])
})

test('connections: at the limit, a new address displaces the newest connection from the address with the most', async () => {
  const server = await startServer(4)
  const [other] = await openMany(server, NEIGHBOUR, 1)
  const held = await openMany(server, ATTACKER, 3)
  const newcomer = await open(server, '127.0.0.4')
  await expectOpen([other as Opened, ...held, newcomer], [true, true, true, false, true])
})

test('connections: addresses with the same number of connections do not displace each other', async () => {
  const server = await startServer(4)
  const held = [...(await openMany(server, NEIGHBOUR, 2)), ...(await openMany(server, ATTACKER, 2))]
  const more = await open(server, NEIGHBOUR)
  await expectOpen([...held, more], [true, true, true, true, false])
})

test('connections: those from a trusted proxy are never closed for others, and displace those from an address with many', async () => {
  const server = await startServer(4, [NEIGHBOUR])
  const proxied = await openMany(server, NEIGHBOUR, 2)
  const held = await openMany(server, ATTACKER, 2)
  const further = await open(server, NEIGHBOUR)
  await expectOpen([...proxied, ...held, further], [true, true, true, false, true])
  // The proxy now has three connections, and the attacker has one. So the server rejects the new connection and closes
  // no other.
  const refused = await open(server, '127.0.0.4')
  await expectOpen([...proxied, further, refused], [true, true, true, false])
})

test('connections: one address can use all connections below the limit, and closing one frees a slot', async () => {
  const server = await startServer(4)
  const connections = await openMany(server, ATTACKER, 4)
  connections[0]?.socket.destroy()
  await expect.poll(() => countOf(server)).toBe(3)
  const next = await open(server, ATTACKER)
  await expectOpen([...connections, next], [false, true, true, true, true])
})

test('connections: Node.js rejects connections beyond the limit until one is closed', async () => {
  expect((await startServer(16)).maxConnections).toBe(18)
})

test.each([
  [256, 96, 16],
  [1024, 384, 64],
  [1_048_576, 16_384, 16_384],
  [Number.POSITIVE_INFINITY, 16_384, 16_384],
  [4, 1, 1],
])(
  'connections: if there are %i descriptors, the port for pages gets %i and each other port %i',
  (descriptors, pages, other) => {
    expect([mostConnections('pages', descriptors), mostConnections('other', descriptors)]).toEqual([pages, other])
  },
)

test('connections: the limit of descriptors is read from the system', () => {
  expect(descriptorLimit()).toBeGreaterThan(0)
})
