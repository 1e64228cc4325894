import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type Koa from 'koa'
import type { Context } from 'koa'
import { type WebSocket, WebSocketServer } from 'ws'
import { PlatformError } from '../../runtime/errors.ts'
import { SECURITY_HEADERS } from './content-security.ts'
import { earlyAnswer } from './early-answer.ts'
import { hasOpenRequests } from './open-requests.ts'

type Upgrade = { readonly socket: Socket; readonly head: Buffer; readonly response: ServerResponse }

const upgrades = new WeakMap<IncomingMessage, Upgrade>()
/** Invalid WebSocket handshakes, each with the reason for its rejection. */
const refused = new WeakMap<IncomingMessage, string>()

/**
 * Whether the request is for a WebSocket. Any other upgrade, such as h2c, is ignored and handled as a plain request.
 */
export function asksForWebSocket(request: IncomingMessage): boolean {
  return request.method === 'GET' && /^websocket$/i.test(request.headers.upgrade ?? '')
}

/**
 * Node's `shouldUpgradeCallback`. Node emits an upgrade even while the request's body is still arriving, or while
 * earlier requests are still unanswered. Such upgrades are rejected, because the responses could not be sent in order.
 */
export function takesUpgrade(request: IncomingMessage): boolean {
  if (!asksForWebSocket(request)) return false
  const reason = whyRefused(request)
  if (reason !== null) refused.set(request, reason)
  return reason === null
}

/** @see RFC 6455, 4.1 */
function whyRefused({ headers, socket }: IncomingMessage): string | null {
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0) {
    return 'A WebSocket handshake must not have a body. Send it without Content-Length and Transfer-Encoding.'
  }
  if (hasOpenRequests(socket)) {
    return 'This connection has an unanswered request. Open a new connection for the WebSocket handshake.'
  }
  return null
}

/** Handles every request that is not upgraded. Handshakes that `takesUpgrade` rejected get a 400. */
export function requestListener(app: Koa): RequestListener {
  const handle = app.callback()
  return (request, response) => {
    const reason = refused.get(request)
    if (reason === undefined) void handle(request, response)
    else refuse(response, reason)
  }
}

function refuse(response: ServerResponse, reason: string): void {
  const { status, headers, body } = earlyAnswer(new PlatformError('ERR_BAD_REQUEST', reason))
  response.writeHead(status, { ...SECURITY_HEADERS, ...headers, connection: 'close' }).end(body)
}

/**
 * Passes WebSocket handshakes through every step of the app, like any other request. A step rejects a handshake by
 * setting the response's status. A step that accepts it calls `takeWebSocket`, which takes over the socket.
 */
export function passUpgrades(server: Server, app: Koa): void {
  const handle = app.callback()
  server.on('upgrade', (request, socket, head) => {
    // Handshakes that `takesUpgrade` accepts have no body, so the socket is the connection itself.
    if (!(socket instanceof Socket)) return void socket.destroy()
    // A client that disconnects during the handshake must not crash the host.
    socket.on('error', () => socket.destroy())
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    // Node no longer manages this connection, so nothing else would close it if the peer keeps it open.
    response.on('finish', () => socket.destroySoon())
    upgrades.set(request, { socket, head, response })
    void handle(request, response)
  })
}

/**
 * Takes over the socket of a WebSocket request. `use` is not called if the browser has disconnected or the handshake is
 * invalid. If the handshake is invalid, the library sends the response.
 * @returns false if the request is not for a WebSocket
 */
export function takeWebSocket(ctx: Context, sockets: WebSocketServer, use: (socket: WebSocket) => void): boolean {
  const upgrade = upgrades.get(ctx.req)
  if (upgrade === undefined) return false
  upgrades.delete(ctx.req)
  const { socket, head, response } = upgrade
  ctx.respond = false
  ctx.status = 101
  response.detachSocket(socket)
  sockets.handleUpgrade(ctx.req, socket, head, use)
  return true
}

/**
 * Maximum fragments per message, since each buffered fragment uses memory. Browsers split messages this long into a few
 * fragments at most.
 */
const MOST_PARTS = 64

/** @param longest the maximum size of a message in bytes; a connection that exceeds it is closed */
export function createWebSocketServer(longest: number): WebSocketServer {
  // Compression is off because it would need memory for each connection.
  return new WebSocketServer({
    noServer: true,
    maxPayload: longest,
    maxFragments: MOST_PARTS,
    perMessageDeflate: false,
    clientTracking: true,
  })
}
