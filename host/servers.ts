import type { AddressInfo } from 'node:net'
import { isLoopback } from '../base/config/host-names.ts'
import { boundConnections, mostConnections } from '../base/http/bound-connections.ts'
import { closeServer, listening, originOf, serverOf } from '../base/tls/listen.ts'
import { httpServer, type WebServer } from '../base/tls/server.ts'
import type { HostCertificate } from '../base/tls/watch-certificate.ts'
import { createAdminApp, createApp, createRedirectApp, type HostParts } from './app.ts'
import type { Settings } from './config/settings.ts'
import { metricsServer } from './metrics-route.ts'

/** All ports of a host. */
export interface Servers {
  /** The port that serves the pages. Before `open` has opened it, this is the configured port. */
  readonly pagesPort: () => number
  /** The URL of the admin pages, if they are open and reachable only from this machine; otherwise null. */
  readonly localAdminPages: () => string | null
  /**
   * Opens all ports, starting with the pages.
   * @throws the errors of `listen`; `close` then closes the ports that are already open
   */
  open(parts: HostParts): Promise<Addresses>
  /**
   * Stops accepting connections. Idle connections are closed immediately. Busy ones are closed after their response, or
   * after `STOP_GRACE` at the latest.
   */
  close(): Promise<void>
}

export type Addresses = {
  /** Origin of the pages. */
  readonly url: string
  readonly adminUrl: string
  /** The port that redirects to HTTPS, see `HTTP_REDIRECT_PORT`; null if there is none. */
  readonly redirectPort: number | null
  /** The URL of the metrics that require no token, see `METRICS_PORT`; null if there is none. */
  readonly metricsUrl: string | null
}

/** @param certificate null to serve without TLS */
export function createServers(settings: Settings, certificate: HostCertificate | null): Servers {
  const servers: WebServer[] = []
  // Chosen here: the admin port also uses TLS, except on loopback, where no traffic leaves the machine and no
  // certificate would be valid.
  const adminCertificate = isLoopback(settings.adminHost) ? null : certificate
  let pagesPort = settings.port
  let localAdminPages: string | null = null

  async function listen(
    server: WebServer,
    wanted: number,
    address: string,
    port: 'pages' | 'other' = 'other',
  ): Promise<number> {
    boundConnections(server, { most: mostConnections(port), trustedProxies: settings.trustedProxies })
    servers.push(await listening(server, wanted, address))
    return (server.address() as AddressInfo).port
  }

  async function openRedirect(parts: HostParts): Promise<number | null> {
    const { httpRedirectPort, host } = settings
    if (httpRedirectPort === null) return null
    return listen(httpServer(createRedirectApp(parts, () => pagesPort)), httpRedirectPort, host)
  }

  async function openMetrics({ telemetry, log }: HostParts): Promise<string | null> {
    const { scraping } = settings.telemetry
    if (scraping === null) return null
    const port = await listen(
      metricsServer(telemetry, [scraping.host, ...settings.allowedHosts], log),
      scraping.port,
      scraping.host,
    )
    return `${originOf(null, scraping.host, port)}/metrics`
  }

  return {
    pagesPort: () => pagesPort,
    localAdminPages: () => localAdminPages,
    async open(parts) {
      pagesPort = await listen(serverOf(createApp(parts), certificate, settings), settings.port, settings.host, 'pages')
      const { adminPort, adminHost } = settings
      const admin = await listen(serverOf(createAdminApp(parts), adminCertificate, settings), adminPort, adminHost)
      const adminUrl = originOf(adminCertificate, adminHost, admin)
      if (isLoopback(adminHost)) localAdminPages = `${adminUrl}/admin/`
      return {
        url: originOf(certificate, settings.host, pagesPort),
        adminUrl,
        redirectPort: await openRedirect(parts),
        metricsUrl: await openMetrics(parts),
      }
    },
    close: async () => void (await Promise.all(servers.map(closeServer))),
  }
}
