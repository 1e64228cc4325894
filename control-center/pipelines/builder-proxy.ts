import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createDoor, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { only } from '../../base/outbound/checked-addresses.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { readHostPort } from '../../runtime/host-port.ts'
import type { BuilderFence } from './builder-fence.ts'
import type { BuilderHosts } from './builder-hosts.ts'
import type { WayOut } from './fenced-builder.ts'
import type { UpstreamProxy } from './upstream-proxy.ts'

/**
 * An HTTP proxy on loopback for one builder while it runs. It resolves each name once, and checks the name, the port
 * and all addresses as `BuilderHosts` does. It connects only to the checked addresses. Therefore, neither a redirect
 * nor DNS rebinding can give the builder access to a private network. Requests without the proxy's password are
 * rejected.
 */
export type BuilderProxy = {
  /** Environment variables for the builder. They replace all other proxy variables. */
  readonly environment: Readonly<Record<string, string>>
  /** The prefix for the builder's command. */
  readonly fence: BuilderFence
  /** Texts to redact from logs. */
  readonly secrets: readonly string[]
  /** Closes the proxy and all its connections. */
  close(): Promise<void>
}

export type BuilderProxyOptions = {
  readonly hosts: BuilderHosts
  /** Reports why a host was rejected, once per host. */
  readonly say: (line: string) => void
  /** The operator's upstream proxy; null if there is none. */
  readonly upstream: UpstreamProxy | null
  /** Null if the builder runs in the control center's network. */
  readonly fence: BuilderFence | null
}

/** Maximum concurrent connections from one builder: buildah copies a few layers in parallel. */
const MOST_CONNECTIONS = 64
/** Timeout of an idle connection, in ms. It is long, because a registry needs time to process a layer. */
const IDLE_TIME = 5 * 60_000
const CONNECT_TIME = 30_000
/** Maximum number of rejections that are reported, so that a malicious registry can't flood the log. */
const MOST_REPORTED = 20

/** Hop-by-hop headers. @see RFC 9110, 7.6.1 */
const OF_CONNECTION = [
  ...['connection', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'proxy-authenticate', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
]

export async function openBuilderProxy(options: BuilderProxyOptions): Promise<BuilderProxy> {
  const { hosts, say, upstream, fence } = options
  const password = randomBytes(24).toString('base64url')
  const login = Buffer.from(`run:${password}`).toString('base64')
  const sockets = new Set<Duplex>()
  const reported = new Set<string>()
  let isClosed = false

  function keep(socket: Socket): Socket {
    sockets.add(socket)
    if (isClosed) socket.destroy()
    socket.setTimeout(IDLE_TIME, () => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    return socket
  }

  function report(line: string): void {
    if (reported.has(line) || reported.size >= MOST_REPORTED) return
    reported.add(line)
    say(line)
  }

  /**
   * Connects to a host after checking it.
   * @throws PlatformError, whose message may be shown to users
   */
  async function reach(host: string, port: number): Promise<Socket> {
    const through = upstream?.handles(host, port) ? upstream : null
    const addresses = await hosts.addresses(host, port).catch((error: unknown) => {
      if (error instanceof PlatformError && error.code === 'ERR_OUTBOUND_PRIVATE') throw error
      if (through !== null) return null
      throw new PlatformError('ERR_OUTBOUND_FAILED', `DNS could not resolve "${host}". Check the host name.`)
    })
    if (through !== null) return keep(await through.connect(`${host}:${port}`, CONNECT_TIME))
    const bare = host.replace(/^\[|\]$/g, '')
    const socket = keep(connect({ host: bare, port, lookup: only(addresses ?? []), autoSelectFamily: true }))
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_TIME) }).catch((error: Error) => {
      socket.destroy()
      const why = (error as NodeJS.ErrnoException).code ?? error.name
      const message = `"${host}:${port}" cannot be reached (${why}). Check the host, the port and the network.`
      throw new PlatformError('ERR_OUTBOUND_FAILED', message)
    })
    return socket
  }

  /** Reports the error in the run's log. @returns the status of the response to the builder */
  function refuse(error: unknown): number {
    if (!(error instanceof PlatformError)) return 502
    const isBlocked = error.code === 'ERR_OUTBOUND_PRIVATE'
    report(`${isBlocked ? BLOCKED : FAILED}: ${error.message}`)
    return isBlocked ? 403 : 502
  }

  async function tunnel(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const named = readHostPort(request.url ?? '')
    if (!isOurs(request, login)) return end(socket, 407)
    if (named === null || named.port === null) return end(socket, 400)
    try {
      const far = await reach(named.host, named.port)
      if (socket.destroyed) return void far.destroy()
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (head.length > 0) far.write(head)
      // `destroySoon` still sends the data that either side wrote before it closed.
      socket.on('close', () => far.destroySoon())
      far.on('close', () => socket.destroySoon())
      socket.pipe(far).pipe(socket)
    } catch (error) {
      end(socket, refuse(error))
    }
  }

  /**
   * Forwards a request without TLS. Chosen here: only hosts that the operator lists may be used without TLS. For other
   * hosts, anyone on the network path could read a password or change a redirect.
   */
  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isOurs(request, login)) return void response.writeHead(407, CHALLENGE).end()
    const url = URL.parse(request.url ?? '')
    const named = url?.protocol === 'http:' ? readHostPort(url.host) : null
    if (url === null || named === null) return void response.writeHead(400).end()
    const { host, port } = { host: named.host, port: named.port ?? 80 }
    try {
      if (!hosts.isListed(host, port)) {
        const message = `"http://${host}:${port}" does not use TLS, so the connection was blocked. To allow it, the operator can add ${host}:${port} to REGISTRY_ALLOWED_HOSTS.`
        throw new PlatformError('ERR_OUTBOUND_PRIVATE', message)
      }
      const far = await reach(host, port)
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !OF_CONNECTION.includes(name)),
      )
      const path = `${url.pathname}${url.search}`
      const asked = httpRequest({
        ...{ method: request.method ?? 'GET', path, headers: { ...headers, host: url.host } },
        createConnection: () => far,
      })
      asked.on('error', () => response.destroy())
      asked.on('response', (answer) => pass(answer, response))
      // Close the builder's request if the host sent no response to forward, for example after an unrequested 101.
      asked.on('close', () => response.headersSent || response.destroy())
      response.on('close', () => far.destroy())
      request.pipe(asked)
    } catch (error) {
      response.writeHead(refuse(error)).end()
    }
  }

  const server = createServer((request, response) => void forward(request, response))
  server.maxConnections = MOST_CONNECTIONS
  // Requests have no timeout here, because transferring a layer can take long. The step of the run has a timeout.
  server.requestTimeout = 0
  // Ignore failures to accept a connection. If the server can't listen, `once` below throws.
  server.on('error', () => {})
  server.on('connection', keep)
  // The parser stops after the headers of a CONNECT request, so `socket` is the raw connection, even if the request
  // announced a body.
  server.on('connect', (request, socket, head) => void tunnel(request, socket as Socket, head))
  const door = fence === null ? null : await openDoor(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const address = `http://run:${password}@127.0.0.1:${port}`
  const wayOut = door && ({ socket: door.file, port, login, places: hosts.onLoopback } satisfies WayOut)

  return {
    environment: {
      ...{ HTTP_PROXY: address, HTTPS_PROXY: address, http_proxy: address, https_proxy: address },
      ...{ NO_PROXY: '', no_proxy: '' },
      ...(wayOut === null ? {} : { WAY_OUT: JSON.stringify(wayOut) }),
    },
    fence: fence ?? [],
    secrets: [password, login],
    async close() {
      isClosed = true
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
      await door?.close()
    },
  }
}

const BLOCKED = 'The control center blocked a connection from the builder'
const FAILED = 'A connection from the builder failed'

/**
 * Opens the Unix socket through which a builder in a separate network reaches the proxy. The socket is in a folder that
 * only this account can enter.
 */
async function openDoor(server: Server): Promise<{ readonly file: string; close(): Promise<void> }> {
  // Don't create the socket in the run's folder, because a Unix socket path is limited to about 100 characters.
  const folder = await mkdtemp(join(tmpdir(), 'solhost-builder-'))
  const file = join(folder, 'proxy')
  const door = createDoor((socket) => void server.emit('connection', socket))
  door.maxConnections = MOST_CONNECTIONS
  door.on('error', () => {})
  door.listen(file)
  await once(door, 'listening')
  return {
    file,
    async close() {
      door.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function pass(answer: IncomingMessage, response: ServerResponse): void {
  const kept = Object.entries(answer.headers).filter(([name]) => !OF_CONNECTION.includes(name))
  const status = answer.statusCode ?? 0
  // Node's parser accepts any three digits, but `writeHead` throws below 100 (RFC 9110, 15).
  response.writeHead(status < 100 ? 502 : status, Object.fromEntries(kept))
  answer.pipe(response)
}

const CHALLENGE = { 'proxy-authenticate': 'Basic realm="builder"' }

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  407: 'Proxy Authentication Required',
  502: 'Bad Gateway',
}

function end(socket: Duplex, status: number): void {
  const challenge = status === 407 ? `proxy-authenticate: ${CHALLENGE['proxy-authenticate']}\r\n` : ''
  socket.end(`HTTP/1.1 ${status} ${REASONS[status]}\r\n${challenge}content-length: 0\r\nconnection: close\r\n\r\n`)
}

/** Whether a request contains the run's password. */
function isOurs(request: IncomingMessage, login: string): boolean {
  const given = request.headers['proxy-authorization'] ?? ''
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(`Basic ${login}`))
}
