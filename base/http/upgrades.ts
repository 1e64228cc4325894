import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type Koa from 'koa'
import type { Context } from 'koa'
import { type WebSocket, WebSocketServer } from 'ws'
import { PlatformError } from '../../runtime/errors.ts'
import { SECURITY_HEADERS } from './content-security.ts'
import { earlyAnswer } from './early-answer.ts'

type Upgrade = { readonly socket: Socket; readonly head: Buffer; readonly response: ServerResponse }

const upgrades = new WeakMap<IncomingMessage, Upgrade>()
/** Handshakes that every server refuses, with the reason. */
const refused = new WeakMap<IncomingMessage, string>()
/** How many requests of a connection have no complete answer yet. */
const openRequests = new WeakMap<Socket, number>()

/** Whether a request asks for a WebSocket; any other upgrade, such as h2c, is answered as if it had not asked. */
export function asksForWebSocket(request: IncomingMessage): boolean {
  return request.method === 'GET' && /^websocket$/i.test(request.headers.upgrade ?? '')
}

/**
 * Node's `shouldUpgradeCallback`. Node hands a connection over while the body of the request is still arriving, as a stream that
 * is not a socket, and while earlier requests still wait for their answers; neither could be answered in order.
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
    return 'A WebSocket handshake has no body. Send it without Content-Length and Transfer-Encoding.'
  }
  if (openRequests.has(socket)) {
    return 'This connection has an unanswered request. Open a new connection for the WebSocket handshake.'
  }
  return null
}

/** Every request that is not a handshake; those that `takesUpgrade` refused are answered with 400. */
export function requestListener(app: Koa): RequestListener {
  const handle = app.callback()
  return (request, response) => {
    noteOpen(request.socket, response)
    const reason = refused.get(request)
    if (reason === undefined) void handle(request, response)
    else refuse(response, reason)
  }
}

function noteOpen(socket: Socket, response: ServerResponse): void {
  openRequests.set(socket, (openRequests.get(socket) ?? 0) + 1)
  response.once('close', () => {
    const left = (openRequests.get(socket) ?? 0) - 1
    if (left > 0) openRequests.set(socket, left)
    else openRequests.delete(socket)
  })
}

function refuse(response: ServerResponse, reason: string): void {
  const { status, headers, body } = earlyAnswer(new PlatformError('ERR_BAD_REQUEST', reason))
  response.writeHead(status, { ...SECURITY_HEADERS, ...headers, connection: 'close' }).end(body)
}

/**
 * Lets the handshake of a WebSocket go through every step of the app, as any other request: what refuses it there answers
 * it with its status. The step that wants it takes it with `takeWebSocket`.
 */
export function passUpgrades(server: Server, app: Koa): void {
  const handle = app.callback()
  server.on('upgrade', (request, socket, head) => {
    // What `takesUpgrade` lets through has no body, so this is the connection itself.
    if (!(socket instanceof Socket)) return void socket.destroy()
    // Whoever leaves during the handshake must not end the host.
    socket.on('error', () => socket.destroy())
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    // Nothing else would end a connection whose other side does not: the server looks after it no longer.
    response.on('finish', () => socket.destroySoon())
    upgrades.set(request, { socket, head, response })
    void handle(request, response)
  })
}

/**
 * Takes the socket of a request that asked for it. `use` is not called when the browser left meanwhile or the handshake is
 * no good, which the library answers by itself.
 * @returns false for a request that does not ask for a WebSocket
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

/** Parts of a frame: browsers send frames of our size in one or a few. Each part that waits for the last takes memory. */
const MOST_PARTS = 64

/** @param longest bytes of a frame: the connection of a browser that sends more ends */
export function createWebSocketServer(longest: number): WebSocketServer {
  // Without compression: each connection would need memory of its own for it.
  return new WebSocketServer({
    noServer: true,
    maxPayload: longest,
    maxFragments: MOST_PARTS,
    perMessageDeflate: false,
    clientTracking: true,
  })
}
