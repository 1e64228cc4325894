import { createServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type Koa from 'koa'
import { SECURITY_HEADERS } from '../http/content-security.ts'
import { headersTooLarge } from '../http/headers-too-large.ts'
import { type ConnectionSettings, createSessionWatch } from './http2-sessions.ts'

/** In bytes, with 32 for each field (RFC 9113, 6.5.2): about what 16 kB of HTTP/1.1 hold. */
const HEADERS_SIZE = 32 * 1024
/** Browsers send each cookie as a field of its own. */
const HEADER_FIELDS = 512

/** What a connection may do before it ends; of what is not here Node's own bounds are good. */
const BOUNDS = {
  maxSessionInvalidFrames: 100,
  /**
   * In MB (10^6 bytes): with more of answers that wait to be taken, further requests of that connection are refused. Chosen
   * here: Node's own default, since a browser that loads a large picture needs other files of the page meanwhile.
   */
  maxSessionMemory: 10,
  /** Twice what is taken, in fields and in bytes: up to here the answer is 431, beyond Node ends the stream without one. */
  maxHeaderListPairs: 2 * HEADER_FIELDS,
  maxSessionRejectedStreams: 100,
  /** Requests that are cancelled: so many at once, so many a second (CVE-2023-44487, "rapid reset"). */
  streamResetBurst: 200,
  streamResetRate: 20,
  settings: {
    maxConcurrentStreams: 100,
    maxHeaderListSize: 2 * HEADERS_SIZE,
    /** Bytes of a body that may come before somebody reads them; the default of 64 kB makes uploads over far lines slow. */
    initialWindowSize: 256 * 1024,
    /** WebSockets over HTTP/2 (RFC 8441) are not offered: browsers then open them by HTTP/1.1. */
    enableConnectProtocol: false,
  },
} as const
/** The same for all bodies of one connection together. */
const SESSION_WINDOW = 1024 ** 2

/** The part of a TLS server that answers on connections of HTTP/2; the requests go through the same steps. */
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
    // What ends a session is the other side's doing: a broken line, or a frame that is no good.
    session.on('error', () => session.destroy())
    watch.add(session)
  })
  // Errors of single streams reach the step that reads or writes them; without a listener they would end the host.
  server.on('sessionError', () => undefined)
  return {
    take: (socket) => void server.emit('connection', socket),
    goAway: watch.goAway,
    destroy: watch.destroy,
  }
}

/**
 * The steps of the app read `Host` and whether there is a body as HTTP/1.1 says them; so these are put there (RFC 9113,
 * 8.3.1 and 8.1). @returns false for a request that names two hosts or none, or another scheme: only of these two does
 * Node make sure that the path is one
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

/** @param headers names and values in turn */
function isTooLarge(headers: readonly string[]): boolean {
  const fields = headers.length / 2
  const size = headers.reduce((sum, text) => sum + text.length, 32 * fields)
  return fields > HEADER_FIELDS || size > HEADERS_SIZE
}

function refuseHeaders(response: Http2ServerResponse): void {
  const { status, headers, body } = headersTooLarge(`${HEADERS_SIZE} bytes, or have more than ${HEADER_FIELDS} fields`)
  response.writeHead(status, { ...SECURITY_HEADERS, ...headers })
  response.end(body)
}

function refuse(response: Http2ServerResponse, status: number): void {
  response.writeHead(status, SECURITY_HEADERS)
  response.end()
}
