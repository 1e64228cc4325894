import { createServer, maxHeaderSize, type Server, STATUS_CODES } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type Koa from 'koa'
import { SECURITY_HEADERS } from '../http/content-security.ts'
import { headersTooLarge } from '../http/headers-too-large.ts'
import { inTurn } from '../http/open-requests.ts'
import { boundUnreadAnswers } from '../http/unread-answers.ts'
import { passUpgrades, requestListener, takesUpgrade } from '../http/upgrades.ts'
import type { ConnectionSettings } from './http2-sessions.ts'
import { createSecureServer } from './secure-server.ts'
import type { HostCertificate } from './watch-certificate.ts'

export type WebServer = Server | SecureServer

/**
 * Creates an HTTP server for an app and its WebSockets. The server itself responds to invalid HTTP, with the same
 * security headers as all other responses.
 */
export function httpServer(app: Koa, settings?: ConnectionSettings): Server {
  const server = createServer({ shouldUpgradeCallback: takesUpgrade }, inTurn(requestListener(app)))
  return answering(server, app, settings)
}

/** Creates an app's server with TLS, for HTTP/1.1 and HTTP/2. New connections use the current certificate. */
export function httpsServer(app: Koa, certificate: HostCertificate, settings: ConnectionSettings): SecureServer {
  return answering(createSecureServer(app, certificate, settings), app, settings)
}

function answering<S extends WebServer>(server: S, app: Koa, settings?: ConnectionSettings): S {
  passUpgrades(server, app)
  boundUnreadAnswers(server, settings?.trustedProxies)
  server.on('checkExpectation', (_request, response) => response.writeHead(417, SECURITY_HEADERS).end())
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
    const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
    const problem = status === 431 ? headersTooLarge(maxHeaderSize) : null
    const lines = Object.entries({ ...SECURITY_HEADERS, ...problem?.headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    )
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n${lines.join('')}\r\n`
    socket.end(`${head}${problem?.body ?? ''}`)
  })
  return server
}
