import type { IncomingMessage } from 'node:http'
import proxyAddr from 'proxy-addr'

/** What a request says of the browser's side, forwarding headers counted only from trusted proxies. */
export type ClientSide = {
  readonly address: string
  readonly protocol: 'http' | 'https'
  /** The Host header in lower case, as the browser sent it. */
  readonly host: string
}

/** @param trusted addresses or networks of `TRUSTED_PROXIES` */
export function createClientReader(trusted: readonly string[]): (request: IncomingMessage) => ClientSide {
  const isTrusted = proxyAddr.compile([...trusted])
  return (request) => {
    const direct = request.socket.remoteAddress ?? ''
    const forwarded = trusted.length > 0 && isTrusted(direct, 0)
    const protocol = forwarded ? first(request.headers['x-forwarded-proto']) : undefined
    const host = (forwarded ? first(request.headers['x-forwarded-host']) : undefined) ?? request.headers.host ?? ''
    return {
      address: forwarded ? proxyAddr(request, isTrusted) : direct,
      protocol: protocol === 'https' ? 'https' : 'http',
      host: host.toLowerCase(),
    }
  }
}

function first(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header[0] : header
  return text?.split(',', 1)[0]?.trim() || undefined
}
