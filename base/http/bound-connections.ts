import type { Server, Socket } from 'node:net'
import proxyAddr from 'proxy-addr'
import { networkOf } from './network.ts'

/**
 * The share of the process's file descriptors for each port. Pages need the largest share. If that share is used up,
 * the separate ports for operators and tools can still be reached.
 */
const PARTS = { pages: 3 / 8, other: 1 / 16 } as const
/** Maximum number of connections. Chosen here: while idle, each uses about 20 kB, so all of them use about 320 MB. */
const MOST = 16_384
/** The limit may be exceeded by this fraction of `most` while connections are being closed to free capacity. */
const CLOSING = 1 / 8
/** The limit that is assumed if the system reports none. */
const USUAL_DESCRIPTORS = 1024

export type ConnectionBound = {
  readonly most: number
  /**
   * The addresses of proxies. A proxy forwards connections from many networks, so its connections are not limited as
   * one network.
   */
  readonly trustedProxies: readonly string[]
}

/**
 * Returns the maximum number of connections of a server. The process needs its other descriptors for sign-ins,
 * databases and sandbox processes.
 * @param descriptors the process's limit, see `descriptorLimit`
 */
export function mostConnections(port: keyof typeof PARTS, descriptors = descriptorLimit()): number {
  return Math.max(1, Math.min(MOST, Math.floor(descriptors * PARTS[port])))
}

let known: number | null = null

/**
 * Returns how many file descriptors this process may have open (`ulimit -n`). The limit does not change while the
 * process runs.
 */
export function descriptorLimit(): number {
  known ??= readLimit()
  return known
}

type Report = { readonly userLimits: { readonly open_files?: { readonly soft: number | 'unlimited' } } }

function readLimit(): number {
  // Node's type declarations lack these properties.
  const report: { excludeNetwork?: boolean | undefined; getReport(): Partial<Report> } = process.report
  const before = report.excludeNetwork
  // The network is excluded from the report, because that part requires DNS lookups.
  report.excludeNetwork = true
  const { userLimits } = report.getReport()
  report.excludeNetwork = before
  const limit = userLimits?.open_files?.soft
  if (limit === 'unlimited') return Number.POSITIVE_INFINITY
  return typeof limit === 'number' ? limit : USUAL_DESCRIPTORS
}

/**
 * Limits the number of a server's connections, including WebSockets. At the limit, the network with the most
 * connections can't open more. A new connection from another network replaces the newest connection from that network.
 * Chosen here: below the limit, networks are not limited individually. Many people may share the address of an office,
 * or of a proxy that is not listed in `TRUSTED_PROXIES`.
 */
export function boundConnections(server: Server, { most, trustedProxies }: ConnectionBound): void {
  const isTrusted = proxyAddr.compile([...trustedProxies])
  /** Each network's connections, in order of arrival. */
  const networks = new Map<string, Set<Socket>>()
  let count = 0
  // The hard limit. Node itself closes any connection above it, and this code doesn't see them.
  server.maxConnections = most + Math.ceil(most * CLOSING)

  server.on('connection', (socket: Socket) => {
    // The address is undefined if the peer has already disconnected.
    const address = socket.remoteAddress
    if (address === undefined) return
    const network = isTrusted(address, 0) ? null : networkOf(address)
    if (count >= most && !makeRoom(network)) return void socket.destroy()
    add(socket, network)
  })

  function add(socket: Socket, network: string | null): void {
    count++
    if (network !== null) networks.set(network, (networks.get(network) ?? new Set()).add(socket))
    socket.once('close', () => {
      count--
      if (network !== null) forget(socket, network)
    })
  }

  function forget(socket: Socket, network: string): void {
    const own = networks.get(network)
    own?.delete(socket)
    if (own?.size === 0) networks.delete(network)
  }

  /** @param network null if the connection is from a trusted proxy */
  function makeRoom(network: string | null): boolean {
    let [largest, sockets] = ['', new Set<Socket>()]
    for (const [name, some] of networks) if (some.size > sockets.size) [largest, sockets] = [name, some]
    const own = network === null ? 0 : (networks.get(network)?.size ?? 0)
    // After losing a connection, the largest network must still have at least as many connections as `network` then
    // has. Otherwise, two networks would keep closing each other's connections.
    if (sockets.size <= own + 1) return false
    const newest = [...sockets].at(-1)
    if (newest === undefined) return false
    forget(newest, largest)
    newest.destroy()
    return true
  }
}
