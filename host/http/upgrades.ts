import type { IncomingMessage, Server } from 'node:http'
import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type Koa from 'koa'
import type { Context } from 'koa'
import { type WebSocket, WebSocketServer } from 'ws'

type Upgrade = { readonly socket: Socket; readonly head: Buffer; readonly response: ServerResponse }

const upgrades = new WeakMap<IncomingMessage, Upgrade>()

/** Whether a request asks for a WebSocket; any other upgrade, such as h2c, is answered as if it had not asked. */
export function asksForWebSocket(request: IncomingMessage): boolean {
  return request.method === 'GET' && /^websocket$/i.test(request.headers.upgrade ?? '')
}

/**
 * Lets the handshake of a WebSocket go through every step of the app, as any other request: what refuses it there answers
 * it with its status. The step that wants it takes it with `takeWebSocket`.
 */
export function passUpgrades(server: Server, app: Koa): void {
  const handle = app.callback()
  server.on('upgrade', (request, stream, head) => {
    // The server listens on TCP.
    const socket = stream as Socket
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
