import type Koa from 'koa'
import type { ConnectionSettings } from './http2-sessions.ts'
import { httpServer, httpsServer, type WebServer } from './server.ts'
import type { HostCertificate } from './watch-certificate.ts'

/** Time, in ms, for requests in progress to finish during a stop. */
const STOP_GRACE = 3_000

/** @param certificate null to listen without TLS */
export function serverOf(app: Koa, certificate: HostCertificate | null, settings: ConnectionSettings): WebServer {
  return certificate === null ? httpServer(app, settings) : httpsServer(app, certificate, settings)
}

/** @throws the errors of `listen` */
export function listening(server: WebServer, port: number, host: string): Promise<WebServer> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      // A connection could not be accepted, for example because the process ran out of file descriptors or memory. The
      // next one may succeed.
      server.on('error', () => {})
      resolve(server)
    })
  })
}

/**
 * Accepts no new connections. Idle connections are closed immediately. Busy ones are closed after their response, or
 * after `STOP_GRACE`.
 */
export function closeServer(server: WebServer): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), STOP_GRACE)
    server.close(() => {
      clearTimeout(timer)
      resolve()
    })
    server.closeIdleConnections()
  })
}

/** The server's URL for requests from this machine, without a path. */
export function originOf(certificate: HostCertificate | null, host: string, port: number): string {
  return `${certificate === null ? 'http' : 'https'}://${urlHost(host)}:${port}`
}

/** Returns the host part of the URL for a listening address. A wildcard address is replaced by the loopback address. */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}
