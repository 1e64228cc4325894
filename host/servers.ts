import type { AddressInfo } from 'node:net'
import { isLoopback } from '../base/config/host-names.ts'
import { boundConnections, mostConnections } from '../base/http/bound-connections.ts'
import { closeServer, listening, originOf, serverOf } from '../base/tls/listen.ts'
import { httpServer, type WebServer } from '../base/tls/server.ts'
import type { HostCertificate } from '../base/tls/watch-certificate.ts'
import { createAdminApp, createApp, createRedirectApp, type HostParts } from './app.ts'
import type { Settings } from './config/settings.ts'
import { metricsServer } from './metrics-route.ts'

/** Every port of a host, from its opening to its end. */
export interface Servers {
  /** Where the pages are; until `open` has opened it, the port that the settings ask for. */
  readonly pagesPort: () => number
  /** Opens them, the pages first. @throws what `listen` throws; those that are open by then are closed by `close` */
  open(parts: HostParts): Promise<Addresses>
  /** No new connections; idle ones end at once, busy ones after their answer or when `STOP_GRACE` is over. */
  close(): Promise<void>
}

export type Addresses = {
  /** The pages, without a path. */
  readonly url: string
  readonly adminUrl: string
  /** The port that leads to https, see `HTTP_REDIRECT_PORT`; null: there is none. */
  readonly redirectPort: number | null
  /** Where metrics are read without a token, see `METRICS_PORT`; null: nowhere. */
  readonly metricsUrl: string | null
}

/** @param certificate null: without TLS */
export function createServers(settings: Settings, certificate: HostCertificate | null): Servers {
  const servers: WebServer[] = []
  // Chosen here: the admin port has TLS too, but on loopback, where nothing leaves the machine and no certificate is valid.
  const adminCertificate = isLoopback(settings.adminHost) ? null : certificate
  let pagesPort = settings.port

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

  async function openMetrics({ telemetry }: HostParts): Promise<string | null> {
    const { scraping } = settings.telemetry
    if (scraping === null) return null
    const port = await listen(
      metricsServer(telemetry, [scraping.host, ...settings.allowedHosts]),
      scraping.port,
      scraping.host,
    )
    return `${originOf(null, scraping.host, port)}/metrics`
  }

  return {
    pagesPort: () => pagesPort,
    async open(parts) {
      pagesPort = await listen(serverOf(createApp(parts), certificate, settings), settings.port, settings.host, 'pages')
      const { adminPort, adminHost } = settings
      const admin = await listen(serverOf(createAdminApp(parts), adminCertificate, settings), adminPort, adminHost)
      return {
        url: originOf(certificate, settings.host, pagesPort),
        adminUrl: originOf(adminCertificate, adminHost, admin),
        redirectPort: await openRedirect(parts),
        metricsUrl: await openMetrics(parts),
      }
    },
    close: async () => void (await Promise.all(servers.map(closeServer))),
  }
}
