import { createServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type Koa from 'koa'
import { SECURITY_HEADERS } from '../http/content-security.ts'
import { headersTooLarge } from '../http/headers-too-large.ts'
import { type ConnectionSettings, createSessionWatch } from './http2-sessions.ts'

/**
 * Maximum size of a request's headers, in bytes plus 32 per field (RFC 9113, 6.5.2). This corresponds to about 16 kB in
 * HTTP/1.1.
 */
const HEADERS_SIZE = 32 * 1024
/** Maximum number of header fields. The limit is high because browsers send each cookie as a separate field. */
const HEADER_FIELDS = 512

/** Limits per connection. Node's defaults apply to options that are not listed. */
const BOUNDS = {
  maxSessionInvalidFrames: 100,
  /**
   * In MB (10^6 bytes). If a connection has more unread response data, its further requests are rejected. Chosen here:
   * Node's default, because a browser that is loading a large image also needs the page's other files.
   */
  maxSessionMemory: 10,
  /**
   * `maxHeaderListPairs` and `maxHeaderListSize` are twice what we accept. Requests that exceed our own limits get a
   * 431. Above Node's limits, Node closes the stream without a response.
   */
  maxHeaderListPairs: 2 * HEADER_FIELDS,
  maxSessionRejectedStreams: 100,
  /**
   * Limits for cancelled requests: the maximum burst, and the maximum rate per second (CVE-2023-44487, "rapid reset").
   */
  streamResetBurst: 200,
  streamResetRate: 20,
  settings: {
    maxConcurrentStreams: 100,
    maxHeaderListSize: 2 * HEADERS_SIZE,
    /**
     * Maximum bytes of a body that may arrive before the app reads them. The default of 64 kB slows uploads over
     * high-latency connections.
     */
    initialWindowSize: 256 * 1024,
    /** WebSockets over HTTP/2 (RFC 8441) are not offered, so browsers use HTTP/1.1 for them. */
    enableConnectProtocol: false,
  },
} as const
/** Same as `initialWindowSize`, but for all request bodies of a connection combined. */
const SESSION_WINDOW = 1024 ** 2

/** Handles the HTTP/2 connections of a TLS server. Requests pass through the same middleware as HTTP/1.1 requests. */
export function createHttp2(
  app: Koa,
  settings: ConnectionSettings,
): { take: (socket: TLSSocket) => void; goAway: () => void; destroy: () => void } {
  const handle = app.callback()
  const watch = createSessionWatch(settings)
  const server = createServer(BOUNDS, (request, response) => {
    if (isTooLarge(request.rawHeaders)) return refuseHeaders(response)
    if (!readAsHttp1(request)) return refuse(response, 400)
    void handle(request, response)
  })
  server.on('connect', (_request, response) => refuse(response, 405))
  server.on('checkExpectation', (_request, response) => refuse(response, 417))
  server.on('session', (session: ServerHttp2Session) => {
    session.setLocalWindowSize(SESSION_WINDOW)
    // Only the peer can cause session errors, with a broken connection or an invalid frame.
    session.on('error', () => session.destroy())
    watch.add(session)
  })
  // The code that reads or writes a stream handles its errors. Without this listener, they would crash the host.
  server.on('sessionError', () => undefined)
  return {
    take: (socket) => void server.emit('connection', socket),
    goAway: watch.goAway,
    destroy: watch.destroy,
  }
}

/**
 * Sets the HTTP/1.1 headers that the app uses: `Host`, and the one that indicates a body (RFC 9113, 8.3.1 and 8.1).
 * @returns false if the request has two different hosts or none, or a scheme other than http and https. Node does not
 * validate the path for other schemes.
 */
function readAsHttp1(request: Http2ServerRequest): boolean {
  const { headers } = request
  const authority = headers[':authority']
  const { host } = headers
  if (request.scheme !== 'https' && request.scheme !== 'http') return false
  if (authority === undefined ? host === undefined : host !== undefined && host !== authority) return false
  headers.host = authority ?? host
  if (!request.stream.endAfterHeaders && headers['content-length'] === undefined)
    headers['transfer-encoding'] = 'chunked'
  return true
}

/** @param headers names and values, alternating */
function isTooLarge(headers: readonly string[]): boolean {
  const fields = headers.length / 2
  const size = headers.reduce((sum, text) => sum + text.length, 32 * fields)
  return fields > HEADER_FIELDS || size > HEADERS_SIZE
}

function refuseHeaders(response: Http2ServerResponse): void {
  const { status, headers, body } = headersTooLarge(HEADERS_SIZE, HEADER_FIELDS)
  response.writeHead(status, { ...SECURITY_HEADERS, ...headers })
  response.end(body)
}

function refuse(response: Http2ServerResponse, status: number): void {
  response.writeHead(status, SECURITY_HEADERS)
  response.end()
}
