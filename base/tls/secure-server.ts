import { Server, type ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type Koa from 'koa'
import { inTurn } from '../http/open-requests.ts'
import { requestListener, takesUpgrade } from '../http/upgrades.ts'
import type { Certificate } from './certificate.ts'
import { createHttp2 } from './http2.ts'
import type { ConnectionSettings } from './http2-sessions.ts'
import type { HostCertificate } from './watch-certificate.ts'

/**
 * Ciphers with forward secrecy and authenticated encryption (Mozilla's "intermediate"). HTTP/2 forbids all other
 * ciphers anyway.
 */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** Timeout for a TLS handshake, in ms. With Node's default, each silent connection would hold a socket for 120 s. */
const HANDSHAKE_TIME = 20_000

/**
 * A TLS server for HTTP/1.1 and HTTP/2; the protocol is negotiated with ALPN. Chosen here: HTTP/1.1 uses Node's HTTPS
 * server, so that it behaves exactly as without TLS (timeouts, upgrades and shutdown). HTTP/2 sockets are passed to a
 * separate server. For WebSockets, browsers open a second connection, over HTTP/1.1.
 */
export function createSecureServer(app: Koa, certificate: HostCertificate, settings: ConnectionSettings): Server {
  const server = new SecureServer(
    {
      ...contextOf(certificate.current()),
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: HANDSHAKE_TIME,
      shouldUpgradeCallback: takesUpgrade,
    } as ServerOptions,
    app,
    settings,
  )
  // Open connections are not affected, because the certificate is used only in the handshake.
  certificate.onChange((next) => server.setSecureContext(contextOf(next)))
  return server
}

function contextOf({ pfx, passphrase }: Certificate): SecureContextOptions {
  return { pfx, passphrase, minVersion: 'TLSv1.2', ciphers: CIPHERS, honorCipherOrder: true }
}

class SecureServer extends Server {
  readonly #http2: ReturnType<typeof createHttp2>
  /**
   * These are TCP sockets, not TLS sockets, to include those whose handshake never finishes. `close` waits for them
   * too.
   */
  readonly #sockets = new Set<Socket>()

  constructor(options: ServerOptions, app: Koa, settings: ConnectionSettings) {
    super(options, inTurn(requestListener(app)))
    this.#http2 = createHttp2(app, settings)
    const toHttp1 = this.listeners('secureConnection')
    this.removeAllListeners('secureConnection')
    this.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') this.#http2.take(socket)
      else for (const listener of toHttp1) listener.call(this, socket)
    })
    this.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    // Close the connection without a response, because a peer whose handshake failed can't read one.
    this.removeAllListeners('tlsClientError')
    this.on('tlsClientError', (_error, socket) => void socket.destroy())
  }

  /** Also called by `close`. HTTP/2 peers are sent GOAWAY, and their sessions close after the last response. */
  override closeIdleConnections(): void {
    super.closeIdleConnections()
    this.#http2.goAway()
  }

  override closeAllConnections(): void {
    super.closeAllConnections()
    this.#http2.destroy()
    for (const socket of this.#sockets) socket.destroy()
  }
}
