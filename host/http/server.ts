import { createServer, type Server, STATUS_CODES } from 'node:http'
import type Koa from 'koa'
import { SECURITY_HEADERS } from './content-security.ts'

/** An HTTP server for an app. What is no HTTP at all is answered here, with the header set that every answer has. */
export function httpServer(app: Koa): Server {
  const server = createServer(app.callback())
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
    const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
    const headers = Object.entries(SECURITY_HEADERS).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n${headers.join('')}\r\n`)
  })
  return server
}
